// Integers, and what integers and floats make of each other.
#include "codegen/llvm/Arithmetic.h"

#include "llvm/Analysis/VectorUtils.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::codegen {

llvm::Type *like(llvm::Value *value, llvm::Type *element) {
  auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return vector ? llvm::FixedVectorType::get(element, vector->getNumElements()) : element;
}

namespace {

llvm::Value *isMinusOne(Builder &b, llvm::Value *value) {
  return b.CreateICmpEQ(value, llvm::Constant::getAllOnesValue(value->getType()));
}

// 1 in place of 0, and of -1, by which quotients may overflow.
llvm::Value *safeDivisor(Builder &b, llvm::Value *divisor, bool isSigned) {
  llvm::Type *type = divisor->getType();
  llvm::Value *isBad = b.CreateICmpEQ(divisor, llvm::Constant::getNullValue(type));
  if (isSigned)
    isBad = b.CreateOr(isBad, isMinusOne(b, divisor));
  return b.CreateSelect(isBad, llvm::ConstantInt::get(type, 1), divisor);
}

// x / y and x % y where y may be 0 and x / y may overflow.
llvm::Value *divide(Builder &b, Values v, bool isSigned, bool remainder) {
  llvm::Type *type = v[0]->getType();
  llvm::Value *zero = llvm::Constant::getNullValue(type);
  llvm::Value *isZero = b.CreateICmpEQ(v[1], zero);
  llvm::Value *minusOne = isSigned ? isMinusOne(b, v[1]) : nullptr;
  llvm::Value *divisor = safeDivisor(b, v[1], isSigned);
  unsigned bits = type->getScalarSizeInBits();
  llvm::Value *quotient;
  if (type->isVectorTy() && bits <= 32 && !llvm::isa<llvm::Constant>(v[1])) {
    // Vectors have no integer division: exact in f64 for 32-bit operands (the quotient is at
    // least 2^-31 relative from the next integer, far above f64's rounding).
    auto inF64 = [&](llvm::Value *integer) {
      llvm::Type *f64 = like(integer, b.getDoubleTy());
      return isSigned ? b.CreateSIToFP(integer, f64) : b.CreateUIToFP(integer, f64);
    };
    llvm::Value *x = inF64(v[0]), *q;
    if (llvm::Value *uniform = llvm::getSplatValue(v[1])) {
      // One divisor for all lanes: its reciprocal is computed once, ahead of the loop. (|x| + 1/2) / |d| is
      // at least 1 / 2|d| from an integer; the two roundings are less than 2^-20 / |d| together.
      llvm::Value *reciprocal =
          b.CreateFDiv(llvm::ConstantFP::get(b.getDoubleTy(), 1.0), inF64(safeDivisor(b, uniform, isSigned)));
      llvm::Value *half = llvm::ConstantFP::get(x->getType(), 0.5);
      llvm::Value *beyond = isSigned ? b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, half, x) : half;
      unsigned lanes = llvm::cast<llvm::FixedVectorType>(type)->getNumElements();
      q = b.CreateFMul(b.CreateFAdd(x, beyond), b.CreateVectorSplat(lanes, reciprocal));
    } else {
      q = b.CreateFDiv(x, inF64(divisor));
    }
    quotient = isSigned ? b.CreateFPToSI(q, type) : b.CreateFPToUI(q, type);
  } else {
    quotient = isSigned ? b.CreateSDiv(v[0], divisor) : b.CreateUDiv(v[0], divisor);
  }
  if (!remainder) {
    if (minusOne)
      quotient = b.CreateSelect(minusOne, b.CreateNeg(v[0]), quotient);
    return b.CreateSelect(isZero, zero, quotient);
  }
  return b.CreateSub(v[0], b.CreateMul(quotient, divisor)); // by 1 in place of 0 and of -1 it is 0
}

} // namespace

llvm::Value *divideBehind(Builder &b, Operation *op, llvm::Value *first, llvm::Value *divisor,
                          llvm::Value *dividend) {
  llvm::Type *type = first->getType();
  llvm::Value *zero = llvm::Constant::getNullValue(type), *one = llvm::ConstantInt::get(type, 1);
  bool isSigned = isa<arith::DivSIOp, arith::RemSIOp>(op);
  llvm::Value *quotient = divide(b, {first, divisor}, isSigned, false);
  if (isSigned) { // toward zero: those behind a negative multiple of the divisor are nearer
    llvm::Value *isMultiple = b.CreateICmpEQ(b.CreateMul(quotient, divisor), first);
    llvm::Value *isTorn = b.CreateAnd(b.CreateICmpSLT(first, zero), isMultiple);
    llvm::Value *nearer =
        b.CreateSelect(b.CreateICmpSLT(divisor, zero), llvm::Constant::getAllOnesValue(type), one);
    quotient = b.CreateAdd(quotient, b.CreateSelect(isTorn, nearer, zero));
  }
  if (isa<arith::DivSIOp, arith::DivUIOp>(op))
    return quotient;
  llvm::Value *rest = b.CreateSub(dividend, b.CreateMul(quotient, divisor));
  return b.CreateSelect(b.CreateICmpEQ(divisor, zero), zero, rest);
}

namespace {

llvm::Value *shift(Builder &b, Operation *op, Values v) {
  llvm::Type *type = v[0]->getType();
  unsigned bits = type->getScalarSizeInBits();
  llvm::Value *inRange = b.CreateICmpULT(v[1], llvm::ConstantInt::get(type, bits));
  if (isa<arith::ShRSIOp>(op))
    return b.CreateAShr(v[0], b.CreateSelect(inRange, v[1], llvm::ConstantInt::get(type, bits - 1)));
  llvm::Constant *zero = llvm::Constant::getNullValue(type);
  auto shiftBy = [&](llvm::Value *amount) {
    return isa<arith::ShLIOp>(op) ? b.CreateShl(v[0], amount) : b.CreateLShr(v[0], amount);
  };
  if (auto *known = dyn_cast<llvm::ConstantInt>(inRange); known && known->isOne())
    return shiftBy(v[1]);
  if (type->isIntegerTy(64)) {
    // LLVM 22 takes "amount < 64 ? x << amount : 0" for one shift of a GPU, which looks at the amount's low
    // half alone, and finds it behind a smallest of the amount and 63, too. Two shifts by half of it each are
    // none.
    llvm::Value *most = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, v[1], b.getInt64(bits));
    llvm::Value *half = b.CreateLShr(most, 1), *rest = b.CreateSub(most, half);
    bool isLeft = isa<arith::ShLIOp>(op);
    llvm::Value *part = isLeft ? b.CreateShl(v[0], half) : b.CreateLShr(v[0], half);
    return isLeft ? b.CreateShl(part, rest) : b.CreateLShr(part, rest);
  }
  llvm::Value *shifted = shiftBy(b.CreateSelect(inRange, v[1], zero));
  return b.CreateSelect(inRange, shifted, zero);
}

llvm::CmpInst::Predicate predicateOf(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::eq: return llvm::CmpInst::ICMP_EQ;
  case P::ne: return llvm::CmpInst::ICMP_NE;
  case P::slt: return llvm::CmpInst::ICMP_SLT;
  case P::sle: return llvm::CmpInst::ICMP_SLE;
  case P::sgt: return llvm::CmpInst::ICMP_SGT;
  case P::sge: return llvm::CmpInst::ICMP_SGE;
  case P::ult: return llvm::CmpInst::ICMP_ULT;
  case P::ule: return llvm::CmpInst::ICMP_ULE;
  case P::ugt: return llvm::CmpInst::ICMP_UGT;
  case P::uge: return llvm::CmpInst::ICMP_UGE;
  }
  llvm_unreachable("closed enumeration");
}

llvm::Value *mulhi(Builder &b, Values v) {
  unsigned bits = v[0]->getType()->getScalarSizeInBits();
  llvm::Type *wide = like(v[0], b.getIntNTy(2 * bits));
  llvm::Value *product = b.CreateMul(b.CreateZExt(v[0], wide), b.CreateZExt(v[1], wide));
  return b.CreateTrunc(b.CreateLShr(product, bits), v[0]->getType());
}

llvm::Value *addPointer(Builder &b, AddPtrOp op, Values v) {
  Type pointee = cast<PointerType>(elementType(op.getType())).getPointee();
  llvm::Type *unit =
      isa<PointerType>(pointee) ? b.getInt64Ty() : b.getIntNTy((pointee.getIntOrFloatBitWidth() + 7) / 8 * 8);
  return b.CreateGEP(unit, v[0], b.CreateSExtOrTrunc(v[1], like(v[1], b.getInt64Ty())));
}

// The LLVM instruction or intrinsic that is the op.
llvm::Value *direct(Builder &b, Operation *op, Values v) {
  if (isa<arith::AddIOp>(op))
    return b.CreateAdd(v[0], v[1]);
  if (isa<arith::SubIOp>(op))
    return b.CreateSub(v[0], v[1]);
  if (isa<arith::MulIOp>(op))
    return b.CreateMul(v[0], v[1]);
  if (isa<arith::AndIOp>(op))
    return b.CreateAnd(v[0], v[1]);
  if (isa<arith::OrIOp>(op))
    return b.CreateOr(v[0], v[1]);
  if (isa<arith::XOrIOp>(op))
    return b.CreateXor(v[0], v[1]);
  if (isa<arith::MaxSIOp>(op))
    return b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, v[0], v[1]);
  if (isa<arith::MinSIOp>(op))
    return b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, v[0], v[1]);
  if (isa<arith::MaxUIOp>(op))
    return b.CreateBinaryIntrinsic(llvm::Intrinsic::umax, v[0], v[1]);
  if (isa<arith::MinUIOp>(op))
    return b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, v[0], v[1]);
  if (isa<math::AbsIOp>(op))
    return b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, v[0], b.getFalse());
  if (isa<math::CountLeadingZerosOp>(op))
    return b.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, v[0], b.getFalse());
  if (isa<math::CtPopOp>(op))
    return b.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, v[0]);
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return b.CreateICmp(predicateOf(compare.getPredicate()), v[0], v[1]);
  return nullptr;
}

// A 64-bit integer that f64 holds exactly and that rounds to small floats as `v` does: of a
// large one the low bits become one bit that says whether any was set.
llvm::Value *withStickyLow(Builder &b, llvm::Value *v, bool isSigned) {
  auto number = [&](uint64_t value) { return llvm::ConstantInt::get(v->getType(), value); };
  llvm::Value *magnitude = isSigned ? b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, v, b.getFalse()) : v;
  llvm::Value *large = b.CreateICmpUGT(magnitude, number(uint64_t(1) << 53));
  llvm::Value *isZero = b.CreateICmpEQ(b.CreateAnd(v, number(0xfff)), number(0));
  llvm::Value *sticky = b.CreateSelect(isZero, number(0), number(0x800));
  return b.CreateSelect(large, b.CreateOr(b.CreateAnd(v, number(~uint64_t(0xfff))), sticky), v);
}

} // namespace

llvm::Value *lowerIntegers(Builder &b, Operation *op, Values v, llvm::Type *element) {
  if (v.empty())
    return nullptr;
  if (llvm::Value *value = direct(b, op, v))
    return value;
  if (isa<arith::DivSIOp>(op))
    return divide(b, v, true, false);
  if (isa<arith::DivUIOp>(op))
    return divide(b, v, false, false);
  if (isa<arith::RemSIOp>(op))
    return divide(b, v, true, true);
  if (isa<arith::RemUIOp>(op))
    return divide(b, v, false, true);
  if (isa<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>(op))
    return shift(b, op, v);
  if (isa<MulhiUIOp>(op))
    return mulhi(b, v);
  if (auto add = dyn_cast<AddPtrOp>(op))
    return addPointer(b, add, v);
  if (isa<arith::ExtSIOp>(op))
    return b.CreateSExt(v[0], like(v[0], element));
  if (isa<arith::ExtUIOp>(op))
    return b.CreateZExt(v[0], like(v[0], element));
  if (isa<arith::TruncIOp>(op))
    return b.CreateTrunc(v[0], like(v[0], element));
  if (isa<arith::IndexCastOp>(op))
    return b.CreateSExtOrTrunc(v[0], like(v[0], element));
  if (isa<arith::IndexCastUIOp>(op))
    return b.CreateZExtOrTrunc(v[0], like(v[0], element));
  if (isa<BitcastOp, arith::BitcastOp, PtrToIntOp, IntToPtrOp>(op))
    return bitcast(b, v[0], element);
  return nullptr;
}

llvm::Value *bitcast(Builder &b, llvm::Value *v, llvm::Type *element) {
  llvm::Type *to = like(v, element);
  if (v->getType() == to)
    return v;
  if (v->getType()->isPtrOrPtrVectorTy())
    return b.CreatePtrToInt(v, to);
  return element->isPointerTy() ? b.CreateIntToPtr(v, to) : b.CreateBitCast(v, to);
}

llvm::CmpInst::Predicate predicateOf(arith::CmpFPredicate predicate) {
  using P = arith::CmpFPredicate;
  switch (predicate) {
  case P::AlwaysFalse: return llvm::CmpInst::FCMP_FALSE;
  case P::OEQ: return llvm::CmpInst::FCMP_OEQ;
  case P::OGT: return llvm::CmpInst::FCMP_OGT;
  case P::OGE: return llvm::CmpInst::FCMP_OGE;
  case P::OLT: return llvm::CmpInst::FCMP_OLT;
  case P::OLE: return llvm::CmpInst::FCMP_OLE;
  case P::ONE: return llvm::CmpInst::FCMP_ONE;
  case P::ORD: return llvm::CmpInst::FCMP_ORD;
  case P::UEQ: return llvm::CmpInst::FCMP_UEQ;
  case P::UGT: return llvm::CmpInst::FCMP_UGT;
  case P::UGE: return llvm::CmpInst::FCMP_UGE;
  case P::ULT: return llvm::CmpInst::FCMP_ULT;
  case P::ULE: return llvm::CmpInst::FCMP_ULE;
  case P::UNE: return llvm::CmpInst::FCMP_UNE;
  case P::UNO: return llvm::CmpInst::FCMP_UNO;
  case P::AlwaysTrue: return llvm::CmpInst::FCMP_TRUE;
  }
  llvm_unreachable("closed enumeration");
}

namespace {

// As `fptosi.sat` and `fptoui.sat`, which LLVM 22 takes apart into scalars and branches for vectors of an
// x86: clamped to what the integer holds, and NaN is 0.
llvm::Value *saturated(Builder &b, llvm::Value *value, llvm::Type *type, bool isSigned) {
  unsigned bits = type->getScalarSizeInBits();
  const llvm::fltSemantics &format = value->getType()->getScalarType()->getFltSemantics();
  llvm::APFloat low(format), limit(format);
  low.convertFromAPInt(isSigned ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt(bits, 0), isSigned,
                       llvm::APFloat::rmTowardZero);
  limit.convertFromAPInt(llvm::APInt::getOneBitSet(bits + 1, isSigned ? bits - 1 : bits), false,
                         llvm::APFloat::rmTowardZero);
  llvm::APFloat below = limit;
  below.next(/*nextDown=*/true);
  auto number = [&](const llvm::APFloat &number) { return llvm::ConstantFP::get(value->getType(), number); };
  llvm::Value *inRange = b.CreateSelect(b.CreateFCmpOGT(value, number(low)), value, number(low));
  inRange = b.CreateSelect(b.CreateFCmpOLT(inRange, number(limit)), inRange, number(below));
  llvm::Value *result = isSigned ? b.CreateFPToSI(inRange, type) : b.CreateFPToUI(inRange, type);
  llvm::APInt most = isSigned ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits);
  result = b.CreateSelect(b.CreateFCmpOGE(value, number(limit)), llvm::ConstantInt::get(type, most), result);
  return b.CreateSelect(b.CreateFCmpUNO(value, value), llvm::Constant::getNullValue(type), result);
}

} // namespace

llvm::Value *floatToInteger(Builder &b, llvm::Value *value, llvm::Type *element, bool isSigned) {
  llvm::Value *wide = toFloat(b, value);
  llvm::Type *type = like(value, element);
  if (type->isVectorTy())
    return saturated(b, wide, type, isSigned);
  auto id = isSigned ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
  return b.CreateIntrinsic(id, {type, wide->getType()}, {wide});
}

llvm::Value *integerToFloat(Builder &b, llvm::Value *v, llvm::Type *element, bool isSigned) {
  auto plain = [&](llvm::Value *integer, llvm::Type *to) {
    return isSigned ? b.CreateSIToFP(integer, like(v, to)) : b.CreateUIToFP(integer, like(v, to));
  };
  if (!element->isHalfTy() && !element->isBFloatTy())
    return plain(v, element);
  // Through a type that holds the integer exactly, so that it is rounded once.
  unsigned bits = v->getType()->getScalarSizeInBits();
  if (bits == 64)
    v = withStickyLow(b, v, isSigned);
  return roundTo(b, plain(v, bits <= 16 ? b.getFloatTy() : b.getDoubleTy()), element);
}

} // namespace tegula::codegen
