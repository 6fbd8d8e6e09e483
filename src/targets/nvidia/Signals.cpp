// Signals and copies of boxes: mbarrier and cp.async.bulk.tensor. LLVM's intrinsics for them take no
// predicate; they are inline assembly, which nothing may duplicate or make conditional. Source: PTX ISA,
// "mbarrier", "cp.async.bulk.tensor", "Tensor-map", "membar/fence".
#include "targets/nvidia/NvidiaHardware.h"

#include "base/CopyMap.h"

#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Module.h"

namespace tegula::nvidia {

namespace {

constexpr unsigned constantSpace = 4; // LLVM, "User Guide for NVPTX Back-end", "Address Spaces"

// `text` under the predicate, which is the first operand.
llvm::CallInst *emitAssembly(llvm::IRBuilderBase &b, llvm::Type *result, const std::string &text,
                             std::string constraints, llvm::ArrayRef<llvm::Value *> arguments) {
  llvm::SmallVector<llvm::Type *> types;
  for (llvm::Value *argument : arguments)
    types.push_back(argument->getType());
  auto *assembly = llvm::InlineAsm::get(llvm::FunctionType::get(result, types, false), text,
                                        constraints + (constraints.empty() ? "" : ",") + "~{memory}",
                                        /*hasSideEffects=*/true);
  llvm::CallInst *call = b.CreateCall(assembly, arguments);
  call->setConvergent();
  return call;
}

void emitWhere(llvm::IRBuilderBase &b, llvm::Value *predicate, const std::string &text,
               const std::string &constraints, llvm::ArrayRef<llvm::Value *> arguments) {
  llvm::SmallVector<llvm::Value *> all{predicate};
  llvm::append_range(all, arguments);
  emitAssembly(b, b.getVoidTy(), "@$0 " + text, "b" + constraints, all);
}

// An address of shared memory as its instructions take it.
llvm::Value *narrow(llvm::IRBuilderBase &b, llvm::Value *address) {
  return b.CreatePtrToInt(address, b.getInt32Ty());
}

} // namespace

void NvidiaHardware::initSignal(Builder &b, llvm::Value *signal, unsigned arrivals,
                                llvm::Value *predicate) const {
  emitWhere(b, predicate, "mbarrier.init.shared::cta.b64 [$1], " + std::to_string(arrivals) + ";", ",r",
            {narrow(b, signal)});
}

void NvidiaHardware::publishSignals(Builder &b, llvm::Value *predicate) const {
  emitWhere(b, predicate, "fence.mbarrier_init.release.cluster;", "", {});
}

void NvidiaHardware::arriveAtSignal(Builder &b, llvm::Value *signal, unsigned arrivals,
                                    llvm::Value *predicate) const {
  emitWhere(b, predicate, "mbarrier.arrive.shared::cta.b64 _, [$1], " + std::to_string(arrivals) + ";", ",r",
            {narrow(b, signal)});
}

void NvidiaHardware::announceAtSignal(Builder &b, llvm::Value *signal, llvm::Value *bytes,
                                      llvm::Value *predicate) const {
  emitWhere(b, predicate, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$1], $2;", ",r,r",
            {narrow(b, signal), bytes});
}

void NvidiaHardware::endSignal(Builder &b, llvm::Value *signal, llvm::Value *predicate) const {
  emitWhere(b, predicate, "mbarrier.inval.shared::cta.b64 [$1];", ",r", {narrow(b, signal)});
}

llvm::Value *NvidiaHardware::trySignal(Builder &b, llvm::Value *signal, llvm::Value *parity) const {
  return emitAssembly(b, b.getInt1Ty(), "mbarrier.try_wait.parity.shared::cta.b64 $0, [$1], $2;", "=b,r,r",
                      {narrow(b, signal), parity});
}

llvm::Value *NvidiaHardware::electLane(Builder &b) const {
  return emitAssembly(b, b.getInt1Ty(), "elect.sync _|$0, -1;", "=b", {});
}

// In constant memory, as among a kernel's parameters, a map needs no fence (CUDA programming guide, "Using a
// tensor map"). A fence empties the cache that instructions share, for all blocks of the multiprocessor:
// where two run there a block that starts costs the other one up to 2.7 us on an H200, a sixth of a product
// of 4096x4096x512. So all fences come first: behind each the instructions are fetched again.
llvm::Value *NvidiaHardware::findCopyMaps(Builder &b, llvm::Value *told, unsigned count,
                                          llvm::Value *acts) const {
  llvm::Module &module = *b.GetInsertBlock()->getModule();
  auto *type = llvm::ArrayType::get(b.getInt8Ty(), CopyMap::constantBytes);
  auto *constants = new llvm::GlobalVariable(
      module, type, /*isConstant=*/false, llvm::GlobalValue::ExternalLinkage,
      llvm::ConstantAggregateZero::get(type), CopyMap::constantsName, nullptr,
      llvm::GlobalValue::NotThreadLocal, constantSpace, /*isExternallyInitialized=*/true);
  constants->setAlignment(llvm::Align(CopyMap::bytes));
  llvm::Value *number = b.CreatePtrToInt(told, b.getInt64Ty());
  llvm::Value *isConstant = b.CreateICmpNE(b.CreateAnd(number, 1), b.getInt64(0));
  // LLVM's pointers to constants have 32 bits, which the simulator's memory goes beyond. A `$` of the name is
  // written twice.
  const std::string place =
      "mov.u64 $0, " + std::string(CopyMap::constantsName) + "$; cvta.const.u64 $0, $0;";
  auto *address = llvm::InlineAsm::get(llvm::FunctionType::get(b.getPtrTy(), false), place, "=l",
                                       /*hasSideEffects=*/false);
  llvm::Value *inConstants = b.CreateGEP(b.getInt8Ty(), b.CreateCall(address),
                                         b.CreateSub(number, b.getInt64(CopyMap::inConstants(0))));
  llvm::Value *maps = b.CreateSelect(isConstant, inConstants, b.CreateAddrSpaceCast(told, b.getPtrTy()));
  llvm::Value *fences = b.CreateAnd(acts, b.CreateNot(isConstant));
  auto forMaps = [&](llvm::Value *where, const std::string &text) {
    for (unsigned i = 0; i != count; ++i)
      emitWhere(b, where, text, ",l",
                {b.CreateConstInBoundsGEP1_32(b.getInt8Ty(), maps, i * CopyMap::bytes)});
  };
  forMaps(fences, "fence.proxy.tensormap::generic.acquire.gpu [$1], " + std::to_string(CopyMap::bytes) + ";");
  forMaps(acts, "prefetch.tensormap [$1];");
  return maps;
}

void NvidiaHardware::copyBox(Builder &b, const BoxCopy &copy) const {
  emitWhere(b, copy.predicate,
            "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [$1], "
            "[$2, {$3, $4, $5}], [$6];",
            ",r,l,r,r,r,r",
            {narrow(b, copy.shared), copy.map, copy.column, copy.row, copy.origin, narrow(b, copy.signal)});
}

void NvidiaHardware::storeBox(Builder &b, const BoxCopy &copy) const {
  emitWhere(b, copy.predicate,
            "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [$1, {$2, $3, $4}], [$5];",
            ",l,r,r,r,r", {copy.map, copy.column, copy.row, copy.origin, narrow(b, copy.shared)});
}

void NvidiaHardware::commitStores(Builder &b, llvm::Value *predicate) const {
  emitWhere(b, predicate, "cp.async.bulk.commit_group;", "", {});
}

void NvidiaHardware::waitForStores(Builder &b, bool areDone) const {
  emitAssembly(b, b.getVoidTy(), areDone ? "cp.async.bulk.wait_group 0;" : "cp.async.bulk.wait_group.read 0;",
               "", {});
}

void NvidiaHardware::fenceForStores(Builder &b) const {
  emitAssembly(b, b.getVoidTy(), "fence.proxy.async.global;", "", {});
}

} // namespace tegula::nvidia
