// Conversions between numbers: the machine's instruction where it has one that rounds once and
// saturates, else arithmetic.
#include "codegen/llvm/Arithmetic.h"
#include "codegen/simt/Elementwise.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::simt {

namespace {

using codegen::Values;

Type signedness(Type integer, unsigned bits, bool isSigned) {
  return IntegerType::get(integer.getContext(), bits, isSigned ? IntegerType::Signed : IntegerType::Unsigned);
}

llvm::Value *toInteger(Scalars &s, Operation *op, llvm::Value *v, Type from, Type to, llvm::Type *element,
                       bool isSigned) {
  auto &b = s.builder;
  unsigned bits = to.getIntOrFloatBitWidth();
  if (codegen::isSmallFloat(v)) {
    v = toFloat(s, op, v);
    from = Float32Type::get(from.getContext());
  }
  if (llvm::Value *narrow = bits == 8 || bits == 16
                                ? s.hardware.convert(b, v, from, signedness(to, bits, isSigned), true)
                                : nullptr)
    return narrow;
  if (v->getType()->isVectorTy()) {
    llvm::Value *result = llvm::PoisonValue::get(llvm::FixedVectorType::get(element, 2));
    for (uint64_t k : {0, 1})
      result = b.CreateInsertElement(
          result, toInteger(s, op, b.CreateExtractElement(v, k), from, to, element, isSigned), k);
    return result;
  }
  llvm::Value *wide =
      bits == 1 ? nullptr
                : s.hardware.convert(b, v, from, signedness(to, std::max(32u, bits), isSigned), true);
  if (!wide)
    return codegen::floatToInteger(b, v, element, isSigned);
  if (bits >= 32)
    return wide;
  auto limit = [&](const llvm::APInt &narrow) {
    return llvm::ConstantInt::get(wide->getType(), isSigned ? narrow.sext(32) : narrow.zext(32));
  };
  if (isSigned) {
    wide = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, wide, limit(llvm::APInt::getSignedMaxValue(bits)));
    wide = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, wide, limit(llvm::APInt::getSignedMinValue(bits)));
  } else {
    wide = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, wide, limit(llvm::APInt::getMaxValue(bits)));
  }
  return b.CreateTrunc(wide, element);
}

llvm::Value *fromInteger(Scalars &s, llvm::Value *v, Type from, Type to, llvm::Type *element, bool isSigned) {
  if (to.getIntOrFloatBitWidth() == 8) { // saturates long before f32 is inexact
    llvm::Value *wide = codegen::integerToFloat(s.builder, v, s.builder.getFloatTy(), isSigned);
    return codegen::convertFloat(s.builder, wide, Float32Type::get(to.getContext()), to, element);
  }
  if (llvm::Value *direct = s.hardware.convert(
          s.builder, v, signedness(from, from.getIntOrFloatBitWidth(), isSigned), to, false))
    return direct;
  auto vector = dyn_cast<llvm::FixedVectorType>(v->getType());
  if (!vector)
    return codegen::integerToFloat(s.builder, v, element, isSigned);
  llvm::Value *result = llvm::PoisonValue::get(llvm::FixedVectorType::get(element, vector->getNumElements()));
  for (uint64_t k = 0; k != vector->getNumElements(); ++k) {
    llvm::Value *one = fromInteger(s, s.builder.CreateExtractElement(v, k), from, to, element, isSigned);
    result = s.builder.CreateInsertElement(result, one, k);
  }
  return result;
}

} // namespace

llvm::Value *lowerCast(Scalars &s, Operation *op, Values v, llvm::Type *element) {
  Type from = elementType(op->getOperand(0).getType()), to = elementType(op->getResult(0).getType());
  if (isa<arith::FPToSIOp, arith::FPToUIOp>(op)) {
    if (from.getIntOrFloatBitWidth() == 8) {
      llvm::Type *f32 = s.builder.getFloatTy();
      llvm::Value *wide =
          codegen::convertFloat(s.builder, v[0], from, Float32Type::get(op->getContext()), f32);
      return toInteger(s, op, wide, Float32Type::get(op->getContext()), to, element,
                       isa<arith::FPToSIOp>(op));
    }
    return toInteger(s, op, v[0], from, to, element, isa<arith::FPToSIOp>(op));
  }
  if (isa<arith::SIToFPOp, arith::UIToFPOp>(op))
    return fromInteger(s, v[0], from, to, element, isa<arith::SIToFPOp>(op));
  auto rounds = dyn_cast<FpToFpOp>(op);
  bool towardZero = rounds && rounds.getRounding() == Rounding::RTZ;
  if (llvm::Value *direct = s.hardware.convert(s.builder, v[0], from, to, towardZero))
    return direct;
  return codegen::convertFloat(s.builder, v[0], from, to, element, towardZero);
}

} // namespace tegula::simt
