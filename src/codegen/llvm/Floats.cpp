// Floats as other floats. bfloat and the 8-bit floats are handled as bits: few machines have them,
// and LLVM calls a library where one has not.
#include "codegen/llvm/Arithmetic.h"

using namespace mlir;

namespace tegula::codegen {

namespace {

llvm::Value *number(llvm::Value *shape, uint64_t value) {
  return llvm::ConstantInt::get(shape->getType(), value);
}

llvm::Value *asBits(Builder &b, llvm::Value *value, unsigned bits) {
  return b.CreateBitCast(value, like(value, b.getIntNTy(bits)));
}

llvm::Value *absolute(Builder &b, llvm::Value *value) {
  return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value);
}

// f64 as f32, rounded to odd: another rounding to fewer digits then rounds as if once.
llvm::Value *toOddFloat(Builder &b, llvm::Value *value) {
  llvm::Value *nearest = b.CreateFPTrunc(value, like(value, b.getFloatTy()));
  llvm::Value *back = b.CreateFPExt(nearest, value->getType());
  llvm::Value *tooFar = b.CreateFCmpOGT(absolute(b, back), absolute(b, value));
  llvm::Value *bits = asBits(b, nearest, 32);
  llvm::Value *truncated = b.CreateSelect(tooFar, b.CreateSub(bits, number(bits, 1)), bits);
  llvm::Value *odd =
      b.CreateSelect(b.CreateFCmpUNE(back, value), b.CreateOr(truncated, number(bits, 1)), bits);
  return b.CreateBitCast(odd, like(value, b.getFloatTy()));
}

// f32 as bfloat: the upper half of its bits.
llvm::Value *toBFloat(Builder &b, llvm::Value *value, bool towardZero) {
  llvm::Value *bits = asBits(b, value, 32), *rounded = bits;
  if (!towardZero) { // half of the last place, and one more if odd
    llvm::Value *odd = b.CreateAnd(b.CreateLShr(bits, 16), number(bits, 1));
    rounded = b.CreateAdd(bits, b.CreateAdd(odd, number(bits, 0x7fff)));
  }
  llvm::Value *quiet = b.CreateOr(bits, number(bits, 0x00400000));
  llvm::Value *high = b.CreateLShr(b.CreateSelect(b.CreateFCmpUNO(value, value), quiet, rounded), 16);
  return b.CreateBitCast(b.CreateTrunc(high, like(value, b.getInt16Ty())), like(value, b.getBFloatTy()));
}

// To nearest, then one step back where that went away from zero.
llvm::Value *truncateTowardZero(Builder &b, llvm::Value *value, llvm::Type *element) {
  llvm::Value *nearest = b.CreateFPTrunc(value, like(value, element));
  llvm::Value *tooFar =
      b.CreateFCmpOGT(absolute(b, b.CreateFPExt(nearest, value->getType())), absolute(b, value));
  llvm::Value *bits = asBits(b, nearest, element->getScalarSizeInBits());
  return b.CreateBitCast(b.CreateSelect(tooFar, b.CreateSub(bits, number(bits, 1)), bits),
                         nearest->getType());
}

// An 8-bit float: how far its mantissa lies from f32's, the exponent of its smallest step, the
// bits of its largest number as f32.
struct Format8 {
  unsigned shift;
  int smallest;
  uint32_t largest;
  unsigned bias;
};
Format8 formatOf(Type type) {
  return isa<Float8E4M3FNType>(type) ? Format8{20, -9, 0x43e00000, 7} : Format8{21, -16, 0x47600000, 15};
}
bool isByte(Type type) { return type.getIntOrFloatBitWidth() == 8; }

llvm::Value *decodeByte(Builder &b, llvm::Value *value, Type from) {
  if (isa<Float8E5M2Type>(from)) { // the upper half of a half
    llvm::Value *bits = b.CreateShl(b.CreateZExt(value, like(value, b.getInt16Ty())), 8);
    return b.CreateFPExt(b.CreateBitCast(bits, like(value, b.getHalfTy())), like(value, b.getFloatTy()));
  }
  // The fields moved to their places in f32 are off by a power of two; the product is exact, also of
  // subnormals.
  llvm::Value *bits = b.CreateZExt(value, like(value, b.getInt32Ty()));
  llvm::Value *magnitude = b.CreateAnd(bits, number(bits, 0x7f));
  llvm::Value *scaled = b.CreateBitCast(b.CreateShl(magnitude, 20), like(value, b.getFloatTy()));
  llvm::Value *exact = asBits(b, b.CreateFMul(scaled, llvm::ConstantFP::get(scaled->getType(), 0x1p120)), 32);
  llvm::Value *isNan = b.CreateICmpEQ(magnitude, number(bits, 0x7f));
  llvm::Value *unsignedBits = b.CreateSelect(isNan, number(bits, 0x7fc00000), exact);
  llvm::Value *sign = b.CreateShl(b.CreateAnd(bits, number(bits, 0x80)), 24);
  return b.CreateBitCast(b.CreateOr(unsignedBits, sign), like(value, b.getFloatTy()));
}

llvm::Value *encodeByte(Builder &b, llvm::Value *value, Type to, bool towardZero) {
  Format8 format = formatOf(to);
  llvm::Value *bits = asBits(b, value, 32);
  llvm::Value *magnitude = b.CreateAnd(bits, number(bits, 0x7fffffff));
  llvm::Value *limited =
      b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, magnitude, number(bits, format.largest));
  llvm::Value *rounded = limited;
  if (!towardZero) {
    llvm::Value *odd = b.CreateAnd(b.CreateLShr(limited, format.shift), number(bits, 1));
    rounded = b.CreateAdd(limited, b.CreateAdd(odd, number(bits, (1u << (format.shift - 1)) - 1)));
  }
  llvm::Value *normal = b.CreateSub(b.CreateLShr(rounded, format.shift),
                                    number(bits, (127 - format.bias) << (23 - format.shift)));
  // Subnormals count steps: as an integer, or rounded by a sum whose last place is one step.
  llvm::Value *absoluteValue = b.CreateBitCast(limited, value->getType());
  llvm::Value *steps;
  if (towardZero) {
    llvm::Value *count = b.CreateFMul(
        absoluteValue, llvm::ConstantFP::get(value->getType(), std::ldexp(1.0, -format.smallest)));
    steps = floatToInteger(b, count, b.getInt32Ty(), false);
  } else {
    llvm::Constant *unit = llvm::ConstantFP::get(value->getType(), std::ldexp(1.0, 23 + format.smallest));
    steps =
        b.CreateSub(asBits(b, b.CreateFAdd(absoluteValue, unit), 32), b.CreateBitCast(unit, bits->getType()));
  }
  uint32_t smallestNormal = (127 - format.bias + 1) << 23;
  llvm::Value *coded = b.CreateSelect(b.CreateICmpULT(limited, number(bits, smallestNormal)), steps, normal);
  coded = b.CreateSelect(b.CreateICmpUGT(magnitude, number(bits, 0x7f800000)), number(bits, 0x7f), coded);
  llvm::Value *sign = b.CreateAnd(b.CreateLShr(bits, 24), number(bits, 0x80));
  return b.CreateTrunc(b.CreateOr(coded, sign), like(value, b.getInt8Ty()));
}

} // namespace

bool isSmallFloat(llvm::Value *value) {
  llvm::Type *element = value->getType()->getScalarType();
  return element->isHalfTy() || element->isBFloatTy();
}

llvm::Value *toFloat(Builder &b, llvm::Value *value) {
  if (!isSmallFloat(value))
    return value;
  if (value->getType()->getScalarType()->isHalfTy())
    return b.CreateFPExt(value, like(value, b.getFloatTy()));
  llvm::Value *bits = b.CreateZExt(asBits(b, value, 16), like(value, b.getInt32Ty()));
  return b.CreateBitCast(b.CreateShl(bits, 16), like(value, b.getFloatTy()));
}

llvm::Value *roundTo(Builder &b, llvm::Value *value, llvm::Type *small) {
  if (value->getType()->getScalarType() == small)
    return value;
  if (small->isFloatTy())
    return b.CreateFPTrunc(value, like(value, small));
  if (value->getType()->getScalarType()->isDoubleTy())
    value = toOddFloat(b, value);
  return small->isHalfTy() ? b.CreateFPTrunc(value, like(value, small)) : toBFloat(b, value, false);
}

llvm::Value *convertFloat(Builder &b, llvm::Value *value, Type from, Type to, llvm::Type *element,
                          bool towardZero) {
  if (from == to)
    return value;
  value = isByte(from) ? decodeByte(b, value, from) : toFloat(b, value); // f32 or f64, exact
  bool isDouble = value->getType()->getScalarType()->isDoubleTy();
  if (isa<Float64Type>(to))
    return isDouble ? value : b.CreateFPExt(value, like(value, element));
  if (isa<Float32Type>(to) && !isDouble)
    return value;
  if (isa<Float32Type>(to))
    return towardZero ? truncateTowardZero(b, value, element) : b.CreateFPTrunc(value, like(value, element));
  if (isDouble) // what is rounded to odd is cut right, too
    value = toOddFloat(b, value);
  if (isByte(to))
    return encodeByte(b, value, to, towardZero);
  if (!towardZero)
    return roundTo(b, value, element);
  return element->isHalfTy() ? truncateTowardZero(b, value, element) : toBFloat(b, value, true);
}

llvm::Intrinsic::ID exactIntrinsic(Operation *op) {
  return llvm::TypeSwitch<Operation *, llvm::Intrinsic::ID>(op)
      .Case<math::AbsFOp>([](auto) { return llvm::Intrinsic::fabs; })
      .Case<math::FloorOp>([](auto) { return llvm::Intrinsic::floor; })
      .Case<math::CeilOp>([](auto) { return llvm::Intrinsic::ceil; })
      .Case<math::TruncOp>([](auto) { return llvm::Intrinsic::trunc; })
      .Case<math::RoundEvenOp>([](auto) { return llvm::Intrinsic::rint; })
      .Case<math::RoundOp>([](auto) { return llvm::Intrinsic::round; })
      .Case<math::CopySignOp>([](auto) { return llvm::Intrinsic::copysign; })
      .Case<math::FmaOp>([](auto) { return llvm::Intrinsic::fma; })
      .Default([](Operation *) { return llvm::Intrinsic::ID(llvm::Intrinsic::not_intrinsic); });
}

llvm::StringRef mathlibName(Operation *op) {
  llvm::StringRef name = op->getName().stripDialect();
  return name == "powf" ? "pow" : name;
}

} // namespace tegula::codegen
