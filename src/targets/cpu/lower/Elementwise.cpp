// arith and the elementwise ops of the tile dialect, on scalars or vectors alike. Corners that
// arith leaves undefined get the values of docs/language/numerical-contract.md: x/0 and x%0
// are 0, INT_MIN/-1 wraps, shifts by the width or more shift everything out, floats outside
// an integer's range saturate and NaN becomes 0.
#include "ir/tile/Tile.h"
#include "targets/cpu/Program.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::cpu {

namespace {

using Values = llvm::ArrayRef<llvm::Value *>;

llvm::Type *scalarOf(llvm::Value *value) { return value->getType()->getScalarType(); }

bool isSmallFloat(llvm::Value *value) { return scalarOf(value)->isHalfTy() || scalarOf(value)->isBFloatTy(); }

llvm::Type *like(llvm::Value *value, llvm::Type *element) {
  auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return vector ? llvm::FixedVectorType::get(element, vector->getNumElements()) : element;
}

// Computes in f32 where the type has no arithmetic, and rounds once: each op rounds.
llvm::Value *inFloat(Program &p, Values operands, llvm::function_ref<llvm::Value *(Values)> compute) {
  if (!isSmallFloat(operands[0]))
    return compute(operands);
  // Nothing contracts: a machine with f16 arithmetic would skip the rounding between two ops.
  llvm::IRBuilderBase::FastMathFlagGuard guard(p.builder);
  p.builder.clearFastMathFlags();
  llvm::SmallVector<llvm::Value *, 3> wide;
  for (llvm::Value *operand : operands)
    wide.push_back(toFloat(p, operand));
  return roundTo(p, compute(wide), scalarOf(operands[0]));
}

llvm::Value *binaryIntrinsic(Program &p, llvm::Intrinsic::ID id, Values operands) {
  return inFloat(p, operands, [&](Values v) { return p.builder.CreateBinaryIntrinsic(id, v[0], v[1]); });
}

// x / y and x % y where y may be 0 and x / y may overflow.
llvm::Value *divide(Program &p, Values v, bool isSigned, bool remainder) {
  auto &b = p.builder;
  llvm::Type *type = v[0]->getType();
  llvm::Value *zero = llvm::Constant::getNullValue(type), *one = llvm::ConstantInt::get(type, 1);
  llvm::Value *isZero = b.CreateICmpEQ(v[1], zero);
  llvm::Value *bad = isZero, *minusOne = nullptr;
  if (isSigned) {
    minusOne = b.CreateICmpEQ(v[1], llvm::Constant::getAllOnesValue(type));
    bad = b.CreateOr(isZero, minusOne);
  }
  llvm::Value *divisor = b.CreateSelect(bad, one, v[1]);
  unsigned bits = type->getScalarSizeInBits();
  llvm::Value *quotient;
  if (type->isVectorTy() && bits <= 32 && !llvm::isa<llvm::Constant>(v[1])) {
    // Vectors have no integer division: exact in f64 for 32-bit operands (the quotient is at
    // least 2^-31 relative from the next integer, far above f64's rounding).
    llvm::Type *f64 = like(v[0], b.getDoubleTy());
    llvm::Value *x = isSigned ? b.CreateSIToFP(v[0], f64) : b.CreateUIToFP(v[0], f64);
    llvm::Value *y = isSigned ? b.CreateSIToFP(divisor, f64) : b.CreateUIToFP(divisor, f64);
    llvm::Value *q = b.CreateFDiv(x, y);
    quotient = isSigned ? b.CreateFPToSI(q, type) : b.CreateFPToUI(q, type);
  } else {
    quotient = isSigned ? b.CreateSDiv(v[0], divisor) : b.CreateUDiv(v[0], divisor);
  }
  if (!remainder) {
    if (minusOne)
      quotient = b.CreateSelect(minusOne, b.CreateNeg(v[0]), quotient);
    return b.CreateSelect(isZero, zero, quotient);
  }
  return b.CreateSelect(bad, zero, b.CreateSub(v[0], b.CreateMul(quotient, divisor)));
}

llvm::Value *shift(Program &p, Operation *op, Values v) {
  auto &b = p.builder;
  llvm::Type *type = v[0]->getType();
  unsigned bits = type->getScalarSizeInBits();
  llvm::Value *inRange = b.CreateICmpULT(v[1], llvm::ConstantInt::get(type, bits));
  if (isa<arith::ShRSIOp>(op))
    return b.CreateAShr(v[0], b.CreateSelect(inRange, v[1], llvm::ConstantInt::get(type, bits - 1)));
  llvm::Value *amount = b.CreateSelect(inRange, v[1], llvm::Constant::getNullValue(type));
  llvm::Value *shifted = isa<arith::ShLIOp>(op) ? b.CreateShl(v[0], amount) : b.CreateLShr(v[0], amount);
  return b.CreateSelect(inRange, shifted, llvm::Constant::getNullValue(type));
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

llvm::Value *floatToInt(Program &p, llvm::Value *value, llvm::Type *to, bool isSigned) {
  auto id = isSigned ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
  return p.builder.CreateIntrinsic(id, {to, toFloat(p, value)->getType()}, {toFloat(p, value)});
}

// A 64-bit integer that f64 holds exactly and that rounds to small floats as `v` does: of a
// large one the low bits become one bit that says whether any was set.
llvm::Value *withStickyLow(Program &p, llvm::Value *v, bool isSigned) {
  auto &b = p.builder;
  auto number = [&](uint64_t value) { return llvm::ConstantInt::get(v->getType(), value); };
  llvm::Value *magnitude = isSigned ? b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, v, b.getFalse()) : v;
  llvm::Value *large = b.CreateICmpUGT(magnitude, number(uint64_t(1) << 53));
  llvm::Value *isZero = b.CreateICmpEQ(b.CreateAnd(v, number(0xfff)), number(0));
  llvm::Value *sticky = b.CreateSelect(isZero, number(0), number(0x800));
  return b.CreateSelect(large, b.CreateOr(b.CreateAnd(v, number(~uint64_t(0xfff))), sticky), v);
}

// f64 as f32, rounded to odd: another rounding to fewer digits then rounds as if once.
llvm::Value *toOddFloat(Program &p, llvm::Value *value) {
  auto &b = p.builder;
  llvm::Value *nearest = b.CreateFPTrunc(value, like(value, b.getFloatTy()));
  llvm::Value *back = b.CreateFPExt(nearest, value->getType());
  llvm::Value *tooFar = b.CreateFCmpOGT(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, back),
                                        b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value));
  llvm::Value *bits = b.CreateBitCast(nearest, like(value, b.getInt32Ty()));
  llvm::Value *one = llvm::ConstantInt::get(bits->getType(), 1);
  llvm::Value *truncated = b.CreateSelect(tooFar, b.CreateSub(bits, one), bits);
  llvm::Value *odd = b.CreateSelect(b.CreateFCmpUNE(back, value), b.CreateOr(truncated, one), bits);
  return b.CreateBitCast(odd, like(value, b.getFloatTy()));
}

llvm::Value *convert(Program &p, Operation *op, llvm::Value *v) {
  auto &b = p.builder;
  if (!v)
    return nullptr;
  llvm::Type *element = p.type(elementType(op->getResult(0).getType()));
  llvm::Type *to = like(v, element);
  if (isa<arith::ExtSIOp>(op))
    return b.CreateSExt(v, to);
  if (isa<arith::ExtUIOp>(op))
    return b.CreateZExt(v, to);
  if (isa<arith::TruncIOp>(op))
    return b.CreateTrunc(v, to);
  if (isa<arith::FPToSIOp>(op))
    return floatToInt(p, v, to, true);
  if (isa<arith::FPToUIOp>(op))
    return floatToInt(p, v, to, false);
  if (isa<arith::SIToFPOp, arith::UIToFPOp>(op)) {
    bool isSigned = isa<arith::SIToFPOp>(op);
    bool small = element->isHalfTy() || element->isBFloatTy();
    if (!small)
      return isSigned ? b.CreateSIToFP(v, to) : b.CreateUIToFP(v, to);
    // Through a type that holds the integer exactly, so that it is rounded once.
    bool fitsFloat = scalarOf(v)->getIntegerBitWidth() <= 16;
    llvm::Type *wide = like(v, fitsFloat ? b.getFloatTy() : b.getDoubleTy());
    if (scalarOf(v)->getIntegerBitWidth() == 64)
      v = withStickyLow(p, v, isSigned);
    return roundTo(p, isSigned ? b.CreateSIToFP(v, wide) : b.CreateUIToFP(v, wide), element);
  }
  if (isa<arith::ExtFOp>(op))
    return element->isFloatTy() ? toFloat(p, v) : b.CreateFPExt(toFloat(p, v), to);
  if (isa<arith::TruncFOp>(op)) {
    if (!element->isHalfTy() && !element->isBFloatTy())
      return b.CreateFPTrunc(v, to);
    return roundTo(p, v, element);
  }
  return nullptr;
}

llvm::Value *bitcast(Program &p, llvm::Value *v, llvm::Type *element) {
  auto &b = p.builder;
  llvm::Type *to = like(v, element);
  if (v->getType() == to)
    return v;
  if (scalarOf(v)->isPointerTy())
    return b.CreatePtrToInt(v, to);
  return element->isPointerTy() ? b.CreateIntToPtr(v, to) : b.CreateBitCast(v, to);
}

llvm::Value *mulhi(Program &p, Values v) {
  auto &b = p.builder;
  unsigned bits = v[0]->getType()->getScalarSizeInBits();
  llvm::Type *wide = like(v[0], b.getIntNTy(2 * bits));
  llvm::Value *product = b.CreateMul(b.CreateZExt(v[0], wide), b.CreateZExt(v[1], wide));
  return b.CreateTrunc(b.CreateLShr(product, bits), v[0]->getType());
}

} // namespace

llvm::Value *toFloat(Program &p, llvm::Value *value) {
  if (!isSmallFloat(value))
    return value;
  auto &b = p.builder;
  if (scalarOf(value)->isHalfTy())
    return b.CreateFPExt(value, like(value, b.getFloatTy()));
  llvm::Value *bits = b.CreateZExt(b.CreateBitCast(value, like(value, b.getInt16Ty())), like(value, b.getInt32Ty()));
  return b.CreateBitCast(b.CreateShl(bits, 16), like(value, b.getFloatTy()));
}

llvm::Value *Program::select(llvm::Value *condition, llvm::Value *yes, llvm::Value *no) {
  if (!scalarOf(yes)->isBFloatTy())
    return builder.CreateSelect(condition, yes, no);
  // As integers: LLVM would widen bf16 to f32, and call a run-time library to narrow it.
  llvm::Type *bits = like(yes, builder.getInt16Ty());
  llvm::Value *chosen = builder.CreateSelect(condition, builder.CreateBitCast(yes, bits), builder.CreateBitCast(no, bits));
  return builder.CreateBitCast(chosen, yes->getType());
}

llvm::Value *Program::firstLane(llvm::Value *vector) {
  llvm::Type *element = scalarOf(vector);
  if (!element->isBFloatTy())
    return builder.CreateExtractElement(vector, uint64_t(0));
  llvm::Value *bits = builder.CreateBitCast(vector, like(vector, builder.getInt16Ty()));
  return builder.CreateBitCast(builder.CreateExtractElement(bits, uint64_t(0)), element);
}

llvm::Value *roundTo(Program &p, llvm::Value *value, llvm::Type *small) {
  auto &b = p.builder;
  if (scalarOf(value) == small)
    return value;
  if (scalarOf(value)->isDoubleTy())
    value = toOddFloat(p, value);
  if (small->isHalfTy())
    return b.CreateFPTrunc(value, like(value, small));
  // Round to nearest even on the bits: add half of the last place, and one more if odd.
  llvm::Value *bits = b.CreateBitCast(value, like(value, b.getInt32Ty()));
  llvm::Type *type = bits->getType();
  llvm::Value *odd = b.CreateAnd(b.CreateLShr(bits, 16), llvm::ConstantInt::get(type, 1));
  llvm::Value *rounded = b.CreateAdd(bits, b.CreateAdd(odd, llvm::ConstantInt::get(type, 0x7fff)));
  llvm::Value *quiet = b.CreateOr(bits, llvm::ConstantInt::get(type, 0x00400000));
  llvm::Value *isNan = b.CreateFCmpUNO(value, value);
  llvm::Value *high = b.CreateLShr(b.CreateSelect(isNan, quiet, rounded), 16);
  return b.CreateBitCast(b.CreateTrunc(high, like(value, b.getInt16Ty())), like(value, small));
}

llvm::Value *lowerElementwise(Program &p, Operation *op, Values v) {
  auto &b = p.builder;
  using Compute = llvm::function_ref<llvm::Value *(Values)>;
  auto inF = [&](Compute compute) { return inFloat(p, v, compute); };

  if (isa<arith::AddFOp>(op)) return inF([&](Values v) { return b.CreateFAdd(v[0], v[1]); });
  if (isa<arith::SubFOp>(op)) return inF([&](Values v) { return b.CreateFSub(v[0], v[1]); });
  if (isa<arith::MulFOp>(op)) return inF([&](Values v) { return b.CreateFMul(v[0], v[1]); });
  if (isa<arith::DivFOp, PreciseDivFOp>(op)) return inF([&](Values v) { return b.CreateFDiv(v[0], v[1]); });
  if (isa<arith::RemFOp>(op)) return inF([&](Values v) { return b.CreateFRem(v[0], v[1]); });
  if (isa<arith::NegFOp>(op)) return inF([&](Values v) { return b.CreateFNeg(v[0]); });
  if (isa<arith::MaxNumFOp>(op)) return binaryIntrinsic(p, llvm::Intrinsic::maxnum, v);
  if (isa<arith::MinNumFOp>(op)) return binaryIntrinsic(p, llvm::Intrinsic::minnum, v);
  if (isa<arith::MaximumFOp>(op)) return binaryIntrinsic(p, llvm::Intrinsic::maximum, v);
  if (isa<arith::MinimumFOp>(op)) return binaryIntrinsic(p, llvm::Intrinsic::minimum, v);
  if (isa<PreciseSqrtOp>(op))
    return inF([&](Values v) { return b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, v[0]); });

  if (isa<arith::AddIOp>(op)) return b.CreateAdd(v[0], v[1]);
  if (isa<arith::SubIOp>(op)) return b.CreateSub(v[0], v[1]);
  if (isa<arith::MulIOp>(op)) return b.CreateMul(v[0], v[1]);
  if (isa<arith::AndIOp>(op)) return b.CreateAnd(v[0], v[1]);
  if (isa<arith::OrIOp>(op)) return b.CreateOr(v[0], v[1]);
  if (isa<arith::XOrIOp>(op)) return b.CreateXor(v[0], v[1]);
  if (isa<arith::DivSIOp>(op)) return divide(p, v, true, false);
  if (isa<arith::DivUIOp>(op)) return divide(p, v, false, false);
  if (isa<arith::RemSIOp>(op)) return divide(p, v, true, true);
  if (isa<arith::RemUIOp>(op)) return divide(p, v, false, true);
  if (isa<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>(op)) return shift(p, op, v);
  if (isa<arith::MaxSIOp>(op)) return b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, v[0], v[1]);
  if (isa<arith::MinSIOp>(op)) return b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, v[0], v[1]);
  if (isa<arith::MaxUIOp>(op)) return b.CreateBinaryIntrinsic(llvm::Intrinsic::umax, v[0], v[1]);
  if (isa<arith::MinUIOp>(op)) return b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, v[0], v[1]);
  if (isa<MulhiUIOp>(op)) return mulhi(p, v);

  if (auto compareInts = dyn_cast<arith::CmpIOp>(op))
    return b.CreateICmp(predicateOf(compareInts.getPredicate()), v[0], v[1]);
  if (auto compareFloats = dyn_cast<arith::CmpFOp>(op))
    return b.CreateFCmp(predicateOf(compareFloats.getPredicate()), toFloat(p, v[0]), toFloat(p, v[1]));
  if (isa<arith::SelectOp>(op)) {
    // A scalar condition may choose between vectors; the other way round all are vectors.
    return p.select(v[0], v[1], v[2]);
  }
  if (auto clamp = dyn_cast<ClampFOp>(op)) {
    auto lower = clamp.getPropagateNan() ? llvm::Intrinsic::maximum : llvm::Intrinsic::maxnum;
    auto upper = clamp.getPropagateNan() ? llvm::Intrinsic::minimum : llvm::Intrinsic::minnum;
    return inF([&](Values v) {
      return b.CreateBinaryIntrinsic(upper, b.CreateBinaryIntrinsic(lower, v[0], v[1]), v[2]);
    });
  }
  llvm::Type *element = op->getNumResults() == 1 ? p.type(elementType(op->getResult(0).getType())) : nullptr;
  if (isa<BitcastOp, arith::BitcastOp, PtrToIntOp, IntToPtrOp>(op)) return bitcast(p, v[0], element);
  if (auto add = dyn_cast<AddPtrOp>(op)) {
    Type pointee = cast<PointerType>(elementType(add.getType())).getPointee();
    llvm::Type *unit = isa<PointerType>(pointee) ? b.getInt64Ty() : b.getIntNTy((pointee.getIntOrFloatBitWidth() + 7) / 8 * 8);
    return b.CreateGEP(unit, v[0], b.CreateSExtOrTrunc(v[1], like(v[1], b.getInt64Ty())));
  }
  return convert(p, op, v.empty() ? nullptr : v[0]);
}

llvm::Value *lowerOp(Program &p, Operation *op, Values operands) {
  if (llvm::Value *result = lowerElementwise(p, op, operands))
    return result;
  return lowerMath(p, op, operands);
}

} // namespace tegula::cpu
