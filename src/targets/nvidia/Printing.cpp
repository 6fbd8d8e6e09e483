// Prints and failed checks: calls of two functions that CUDA's driver supplies. vprintf takes a format
// and a buffer with the arguments as C passes them, each at its natural alignment.
// Source: CUDA C++ Programming Guide, "Formatted output" and "Assertion".
#include "targets/nvidia/NvidiaHardware.h"

#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"

namespace tegula::nvidia {

using Builder = simt::Hardware::Builder;

namespace {

llvm::Module &moduleOf(Builder &b) { return *b.GetInsertBlock()->getModule(); }

llvm::Value *generic(Builder &b, llvm::Value *pointer) {
  return b.CreateAddrSpaceCast(pointer, b.getPtrTy());
}

llvm::Value *text(Builder &b, llvm::StringRef words) {
  return generic(b, b.CreateGlobalString(words, "text", /*AddressSpace=*/1));
}

// The thread's buffer for arguments of these types; prints of one kind share it.
llvm::AllocaInst *buffer(Builder &b, llvm::StructType *type) {
  llvm::BasicBlock &entry = b.GetInsertBlock()->getParent()->getEntryBlock();
  for (llvm::Instruction &each : entry)
    if (auto *known = llvm::dyn_cast<llvm::AllocaInst>(&each); known && known->getAllocatedType() == type)
      return known;
  llvm::IRBuilderBase::InsertPointGuard guard(b);
  b.SetInsertPoint(&entry, entry.begin());
  return b.CreateAlloca(type, nullptr, "arguments");
}

} // namespace

void NvidiaHardware::print(Builder &b, llvm::StringRef format,
                           llvm::ArrayRef<llvm::Value *> arguments) const {
  llvm::Value *place = llvm::ConstantPointerNull::get(b.getPtrTy());
  if (!arguments.empty()) {
    llvm::SmallVector<llvm::Type *> types;
    for (llvm::Value *argument : arguments)
      types.push_back(argument->getType());
    auto *type = llvm::StructType::get(b.getContext(), types);
    place = buffer(b, type);
    for (auto [i, argument] : llvm::enumerate(arguments))
      b.CreateStore(argument, b.CreateStructGEP(type, place, unsigned(i)));
  }
  auto *signature = llvm::FunctionType::get(b.getInt32Ty(), {b.getPtrTy(), b.getPtrTy()}, false);
  b.CreateCall(moduleOf(b).getOrInsertFunction("vprintf", signature), {text(b, format), generic(b, place)});
}

void NvidiaHardware::fail(Builder &b, llvm::StringRef message, llvm::StringRef file, unsigned line,
                          llvm::StringRef function) const {
  llvm::Type *pointer = b.getPtrTy();
  auto *signature = llvm::FunctionType::get(
      b.getVoidTy(), {pointer, pointer, b.getInt32Ty(), pointer, b.getInt64Ty()}, false);
  b.CreateCall(moduleOf(b).getOrInsertFunction("__assertfail", signature),
               {text(b, message), text(b, file), b.getInt32(line), text(b, function), b.getInt64(1)});
}

void NvidiaHardware::failWordless(Builder &b) const {
  auto *trap = llvm::InlineAsm::get(llvm::FunctionType::get(b.getVoidTy(), false), "trap;", "",
                                    /*hasSideEffects=*/true);
  b.CreateCall(trap);
}

} // namespace tegula::nvidia
