#include "targets/nvidia/Arithmetic.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace mlir;

namespace tegula::nvidia {

using Builder = llvm::IRBuilderBase;

llvm::Value *approximate(Builder &b, llvm::StringRef function, llvm::ArrayRef<llvm::Value *> arguments) {
  // Within 2 ulp (div.full), 2^-22.5 (ex2, lg2 away from 1), 2^-22.9 (rsqrt) and 2^-23 (sqrt).
  // Subnormals are kept, as the f32 arithmetic around them does, except where ex2 gives them: keeping those
  // takes two scalings and a comparison for each, more than a softmax has otherwise (N20).
  auto id = llvm::StringSwitch<llvm::Intrinsic::ID>(function)
                .Case("fdiv", llvm::Intrinsic::nvvm_div_full)
                .Case("exp2", llvm::Intrinsic::nvvm_ex2_approx_ftz)
                .Case("log2", llvm::Intrinsic::nvvm_lg2_approx_f)
                .Case("sqrt", llvm::Intrinsic::nvvm_sqrt_approx_f)
                .Case("rsqrt", llvm::Intrinsic::nvvm_rsqrt_approx_f)
                .Default(llvm::Intrinsic::not_intrinsic);
  if (id == llvm::Intrinsic::not_intrinsic)
    return nullptr;
  return b.CreateIntrinsic(b.getFloatTy(), id, arguments);
}

namespace {

bool isPair(llvm::Value *value) { return value->getType()->isVectorTy(); }
llvm::Value *low(Builder &b, llvm::Value *value) {
  return isPair(value) ? b.CreateExtractElement(value, uint64_t(0)) : value;
}
// The upper half of what packed instructions take; nothing where there is one element.
llvm::Value *high(Builder &b, llvm::Value *value) {
  return isPair(value) ? b.CreateExtractElement(value, uint64_t(1))
                       : llvm::Constant::getNullValue(value->getType());
}

// f32 -> f16 or bf16, through the instruction for two.
llvm::Value *narrow(Builder &b, llvm::Value *value, Type to, bool towardZero) {
  bool half = to.isF16();
  auto id = half ? (towardZero ? llvm::Intrinsic::nvvm_ff2f16x2_rz : llvm::Intrinsic::nvvm_ff2f16x2_rn)
                 : (towardZero ? llvm::Intrinsic::nvvm_ff2bf16x2_rz : llvm::Intrinsic::nvvm_ff2bf16x2_rn);
  llvm::Type *element = half ? b.getHalfTy() : b.getBFloatTy();
  if (!isPair(value) && !towardZero)
    return b.CreateFPTrunc(value, element);
  llvm::Value *both =
      b.CreateIntrinsic(llvm::FixedVectorType::get(element, 2), id, {high(b, value), low(b, value)});
  return isPair(value) ? both : b.CreateExtractElement(both, uint64_t(0));
}

// f32 or f16 -> 8 bits.
llvm::Value *encodeBytes(Builder &b, llvm::Value *value, Type from, Type to) {
  bool e4m3 = isa<Float8E4M3FNType>(to);
  llvm::Value *word;
  if (from.isF16()) {
    llvm::Value *both = value;
    if (!isPair(value))
      both = b.CreateInsertElement(llvm::Constant::getNullValue(llvm::FixedVectorType::get(b.getHalfTy(), 2)),
                                   value, uint64_t(0));
    word = b.CreateIntrinsic(
        b.getInt16Ty(),
        e4m3 ? llvm::Intrinsic::nvvm_f16x2_to_e4m3x2_rn : llvm::Intrinsic::nvvm_f16x2_to_e5m2x2_rn, {both});
  } else {
    word = b.CreateIntrinsic(
        b.getInt16Ty(), e4m3 ? llvm::Intrinsic::nvvm_ff_to_e4m3x2_rn : llvm::Intrinsic::nvvm_ff_to_e5m2x2_rn,
        {high(b, value), low(b, value)});
  }
  return isPair(value) ? b.CreateBitCast(word, llvm::FixedVectorType::get(b.getInt8Ty(), 2))
                       : b.CreateTrunc(word, b.getInt8Ty());
}

// 8 bits -> f16 or f32.
llvm::Value *decodeBytes(Builder &b, llvm::Value *value, Type from, Type to) {
  bool e4m3 = isa<Float8E4M3FNType>(from);
  llvm::Value *word =
      isPair(value) ? b.CreateBitCast(value, b.getInt16Ty()) : b.CreateZExt(value, b.getInt16Ty());
  llvm::Value *halves = b.CreateIntrinsic(
      llvm::FixedVectorType::get(b.getHalfTy(), 2),
      e4m3 ? llvm::Intrinsic::nvvm_e4m3x2_to_f16x2_rn : llvm::Intrinsic::nvvm_e5m2x2_to_f16x2_rn, {word});
  llvm::Value *result = isPair(value) ? halves : b.CreateExtractElement(halves, uint64_t(0));
  if (to.isF16())
    return result;
  return b.CreateFPExt(result,
                       isPair(value) ? llvm::FixedVectorType::get(b.getFloatTy(), 2) : b.getFloatTy());
}

llvm::Value *betweenFloats(Builder &b, llvm::Value *value, Type from, Type to, bool towardZero,
                           unsigned capability) {
  unsigned fromBits = from.getIntOrFloatBitWidth(), toBits = to.getIntOrFloatBitWidth();
  bool small = to.isF16() || to.isBF16();
  if (from.isF32() && small)
    return capability >= 80 || (to.isF16() && !isPair(value) && !towardZero)
               ? narrow(b, value, to, towardZero)
               : nullptr;
  if (from.isF64() && small && !towardZero && (to.isF16() || capability >= 90))
    return b.CreateFPTrunc(value, to.isF16() ? b.getHalfTy() : b.getBFloatTy());
  if (capability < 89 || towardZero)
    return nullptr;
  if (toBits == 8 && (from.isF32() || from.isF16()))
    return encodeBytes(b, value, from, to);
  if (toBits == 8 && from.isBF16()) {
    llvm::Type *f32 =
        isPair(value) ? (llvm::Type *)llvm::FixedVectorType::get(b.getFloatTy(), 2) : b.getFloatTy();
    return encodeBytes(b, b.CreateFPExt(value, f32), Float32Type::get(to.getContext()), to);
  }
  if (fromBits != 8 || toBits == 8)
    return nullptr;
  if (to.isBF16()) {
    Type f32 = Float32Type::get(to.getContext());
    return narrow(b, decodeBytes(b, value, from, f32), to, false);
  }
  return to.isF16() || to.isF32() ? decodeBytes(b, value, from, to) : nullptr;
}

// cvt saturates, and gives 0 for NaN where both are of 32 bits at most.
llvm::Value *toInteger(Builder &b, llvm::Value *value, Type from, IntegerType to) {
  bool isSigned = to.isSigned(), isLong = to.getWidth() == 64;
  if (isPair(value) || to.getWidth() < 32 || !(from.isF32() || from.isF64()))
    return nullptr;
  llvm::Intrinsic::ID id;
  if (from.isF32())
    id = isLong ? (isSigned ? llvm::Intrinsic::nvvm_f2ll_rz : llvm::Intrinsic::nvvm_f2ull_rz)
                : (isSigned ? llvm::Intrinsic::nvvm_f2i_rz : llvm::Intrinsic::nvvm_f2ui_rz);
  else
    id = isLong ? (isSigned ? llvm::Intrinsic::nvvm_d2ll_rz : llvm::Intrinsic::nvvm_d2ull_rz)
                : (isSigned ? llvm::Intrinsic::nvvm_d2i_rz : llvm::Intrinsic::nvvm_d2ui_rz);
  llvm::Value *result = b.CreateIntrinsic(b.getIntNTy(to.getWidth()), id, {value});
  if (from.isF32() && !isLong)
    return result;
  return b.CreateSelect(b.CreateFCmpUNO(value, value), llvm::Constant::getNullValue(result->getType()),
                        result);
}

} // namespace

llvm::Value *convert(Builder &b, llvm::Value *value, Type from, Type to, bool towardZero,
                     unsigned capability) {
  if (auto integer = dyn_cast<IntegerType>(to))
    return toInteger(b, value, from, integer);
  if (auto integer = dyn_cast<IntegerType>(from)) {
    if (isPair(value) || !(to.isF16() || (to.isBF16() && capability >= 90)))
      return nullptr;
    llvm::Type *element = to.isF16() ? b.getHalfTy() : b.getBFloatTy();
    return integer.isSigned() ? b.CreateSIToFP(value, element) : b.CreateUIToFP(value, element);
  }
  return betweenFloats(b, value, from, to, towardZero, capability);
}

} // namespace tegula::nvidia
