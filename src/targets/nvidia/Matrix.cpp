// Matrix instructions: rows of Mma.def as LLVM's intrinsics, and as assembly where sums must stay in their
// registers.
#include "targets/nvidia/InlineAssembly.h"
#include "targets/nvidia/NvidiaHardware.h"

#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"

namespace tegula::nvidia {

namespace {

llvm::Intrinsic::ID intrinsicOf(llvm::StringRef name) {
#define MMA(row, a, b, result, m, n, k, bits, capability, intrinsic)                                         \
  if (name == row)                                                                                           \
    return llvm::Intrinsic::intrinsic;
#include "targets/nvidia/Mma.def"
#undef MMA
  return llvm::Intrinsic::not_intrinsic;
}

// sm_90 has no unit for 8-bit floats in one warp: ptxas makes two products of f16 and four additions of the
// instruction, and writes the first sum before it reads the second one (12.8, 13.0). A register that is read
// as two sums, and written as one of them, gives a wrong number. So each sum is written where it was read,
// and nowhere else.
bool staysInPlace(llvm::StringRef name) { return name.starts_with("m16n8k32.e"); }

llvm::Value *multiplyInPlace(llvm::IRBuilderBase &b, llvm::StringRef name, llvm::ArrayRef<llvm::Value *> a,
                             llvm::ArrayRef<llvm::Value *> bWords, llvm::ArrayRef<llvm::Value *> c) {
  using namespace llvm;
  SmallVector<Value *> arguments(c);
  append_range(arguments, a);
  append_range(arguments, bWords);
  SmallVector<Type *> sums;
  for (Value *each : c)
    sums.push_back(each->getType());
  std::string constraints = sumConstraints(sums, /*areRead=*/true);
  for (size_t i = 0; i != a.size() + bWords.size(); ++i)
    constraints += ",r";
  auto [shape, formats] = name.split('.');
  unsigned ofSums = unsigned(c.size()), ofA = 2 * ofSums, ofB = ofA + unsigned(a.size());
  std::string text = ("mma.sync.aligned." + shape + ".row.col.f32." + formats + ".f32 ").str() +
                     listed(0, ofSums) + ", " + listed(ofA, unsigned(a.size())) + ", " +
                     listed(ofB, unsigned(bWords.size())) + ", " + listed(0, ofSums) + ";";
  CallInst *call = emitComputation(b, StructType::get(b.getContext(), sums), text, constraints, arguments);
  call->setConvergent();
  return call;
}

} // namespace

simt::Hardware::Values NvidiaHardware::multiplyMatrices(Builder &b, llvm::StringRef name,
                                                        llvm::ArrayRef<llvm::Value *> a,
                                                        llvm::ArrayRef<llvm::Value *> bWords,
                                                        llvm::ArrayRef<llvm::Value *> c) const {
  if (staysInPlace(name))
    return parts(b, multiplyInPlace(b, name, a, bWords, c));
  llvm::Module *module = b.GetInsertBlock()->getModule();
  llvm::Function *function = llvm::Intrinsic::getOrInsertDeclaration(module, intrinsicOf(name));
  llvm::SmallVector<llvm::Value *> arguments;
  for (llvm::ArrayRef<llvm::Value *> part : {a, bWords, c})
    for (llvm::Value *value : part) {
      // Some intrinsics call a word of two halves by that name.
      llvm::Type *wanted = function->getFunctionType()->getParamType(unsigned(arguments.size()));
      arguments.push_back(b.CreateBitCast(value, wanted));
    }
  llvm::Value *product = b.CreateCall(function, arguments);
  return parts(b, product);
}

simt::Hardware::Values NvidiaHardware::matrixLoad(Builder &b, llvm::Value *address, unsigned count,
                                                  bool isTransposed) const {
  using namespace llvm;
  constexpr Intrinsic::ID ids[2][3] = {{Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x1_b16,
                                        Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x2_b16,
                                        Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_b16},
                                       {Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x1_trans_b16,
                                        Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x2_trans_b16,
                                        Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_trans_b16}};
  Function *function = Intrinsic::getOrInsertDeclaration(
      b.GetInsertBlock()->getModule(), ids[isTransposed][Log2_32(count)], {address->getType()});
  Value *loaded = b.CreateCall(function, {address});
  Values words;
  for (unsigned i = 0; i != count; ++i)
    words.push_back(count == 1 ? loaded : b.CreateExtractValue(loaded, i));
  return words;
}

void NvidiaHardware::matrixStore(Builder &b, llvm::Value *address, llvm::ArrayRef<llvm::Value *> words,
                                 bool isTransposed) const {
  using namespace llvm;
  constexpr Intrinsic::ID ids[2][3] = {{Intrinsic::nvvm_stmatrix_sync_aligned_m8n8_x1_b16,
                                        Intrinsic::nvvm_stmatrix_sync_aligned_m8n8_x2_b16,
                                        Intrinsic::nvvm_stmatrix_sync_aligned_m8n8_x4_b16},
                                       {Intrinsic::nvvm_stmatrix_sync_aligned_m8n8_x1_trans_b16,
                                        Intrinsic::nvvm_stmatrix_sync_aligned_m8n8_x2_trans_b16,
                                        Intrinsic::nvvm_stmatrix_sync_aligned_m8n8_x4_trans_b16}};
  Function *function = Intrinsic::getOrInsertDeclaration(
      b.GetInsertBlock()->getModule(), ids[isTransposed][Log2_32(words.size())], {address->getType()});
  SmallVector<Value *> arguments{address};
  append_range(arguments, words);
  b.CreateCall(function, arguments);
}

// Source: PTX ISA, "cp.async". Only the form for 16 bytes can leave out the first cache.
void NvidiaHardware::asyncCopy(Builder &b, llvm::Value *to, const simt::Access &from) const {
  using namespace llvm;
  unsigned bytes = from.element->getScalarSizeInBits() / 8 * from.count;
  bool around = bytes == 16 && from.cache != tile::CacheModifier::CA;
  bool whole = !from.predicate;
  Intrinsic::ID id = bytes == 4   ? (whole ? Intrinsic::nvvm_cp_async_ca_shared_global_4
                                           : Intrinsic::nvvm_cp_async_ca_shared_global_4_s)
                     : bytes == 8 ? (whole ? Intrinsic::nvvm_cp_async_ca_shared_global_8
                                           : Intrinsic::nvvm_cp_async_ca_shared_global_8_s)
                     : around     ? (whole ? Intrinsic::nvvm_cp_async_cg_shared_global_16
                                           : Intrinsic::nvvm_cp_async_cg_shared_global_16_s)
                                  : (whole ? Intrinsic::nvvm_cp_async_ca_shared_global_16
                                           : Intrinsic::nvvm_cp_async_ca_shared_global_16_s);
  SmallVector<Value *> arguments{to, from.pointer};
  if (from.predicate)
    arguments.push_back(b.CreateSelect(from.predicate, b.getInt32(bytes), b.getInt32(0)));
  b.CreateIntrinsic(b.getVoidTy(), id, arguments);
}

void NvidiaHardware::asyncCommit(Builder &b) const {
  b.CreateIntrinsic(b.getVoidTy(), llvm::Intrinsic::nvvm_cp_async_commit_group, {});
}

void NvidiaHardware::asyncWait(Builder &b, unsigned pending) const {
  b.CreateIntrinsic(b.getVoidTy(), llvm::Intrinsic::nvvm_cp_async_wait_group, {b.getInt32(pending)});
}

llvm::Value *NvidiaHardware::roundForMatrix(Builder &b, llvm::Value *value) const {
  llvm::Value *rounded = b.CreateIntrinsic(b.getInt32Ty(), llvm::Intrinsic::nvvm_f2tf32_rna, {value});
  return b.CreateBitCast(rounded, b.getFloatTy());
}

} // namespace tegula::nvidia
