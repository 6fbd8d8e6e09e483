// arith and the elementwise ops of the tile dialect, on scalars or vectors alike: integers and
// conversions as every target has them (codegen/llvm/Arithmetic.h), floats as this machine does.
#include "codegen/llvm/Arithmetic.h"
#include "ir/tile/Tile.h"
#include "targets/cpu/Ops.h"
#include "targets/cpu/ProgramEmitter.h"

using namespace mlir;
using namespace tegula::tile;
using tegula::codegen::isSmallFloat;
using tegula::codegen::like;

namespace tegula::cpu {

namespace {

using Values = llvm::ArrayRef<llvm::Value *>;

bool isByteFloat(Type type) { return isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 8; }

llvm::Type *scalarOf(llvm::Value *value) { return value->getType()->getScalarType(); }

// Computes in f32 where the type has no arithmetic, and rounds once: each op rounds.
llvm::Value *inFloat(ProgramEmitter &p, Values operands, llvm::function_ref<llvm::Value *(Values)> compute) {
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

llvm::Value *binaryIntrinsic(ProgramEmitter &p, llvm::Intrinsic::ID id, Values operands) {
  return inFloat(p, operands, [&](Values v) { return p.builder.CreateBinaryIntrinsic(id, v[0], v[1]); });
}

// Lane by lane: the division is long and its length differs. (LLVM's own calls libm.)
llvm::Value *remainder(ProgramEmitter &p, llvm::Value *x, llvm::Value *y) {
  auto &b = p.builder;
  llvm::Type *element = scalarOf(x);
  llvm::FunctionCallee callee =
      p.module.getOrInsertFunction(element->isDoubleTy() ? "tgm_fmod_f64" : "tgm_fmod_f32",
                                   llvm::FunctionType::get(element, {element, element}, false));
  auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  if (!vector)
    return b.CreateCall(callee, {x, y});
  llvm::Value *result = llvm::PoisonValue::get(vector);
  for (uint64_t i = 0; i < vector->getNumElements(); ++i) {
    llvm::Value *lane = b.CreateCall(callee, {b.CreateExtractElement(x, i), b.CreateExtractElement(y, i)});
    result = b.CreateInsertElement(result, lane, i);
  }
  return result;
}

} // namespace

llvm::Value *toFloat(ProgramEmitter &p, llvm::Value *value) { return codegen::toFloat(p.builder, value); }

llvm::Value *roundTo(ProgramEmitter &p, llvm::Value *value, llvm::Type *small) {
  return codegen::roundTo(p.builder, value, small);
}

llvm::Value *ProgramEmitter::select(llvm::Value *condition, llvm::Value *yes, llvm::Value *no) {
  if (!scalarOf(yes)->isBFloatTy())
    return builder.CreateSelect(condition, yes, no);
  // As integers: LLVM would widen bf16 to f32, and call a run-time library to narrow it.
  llvm::Type *bits = like(yes, builder.getInt16Ty());
  llvm::Value *chosen =
      builder.CreateSelect(condition, builder.CreateBitCast(yes, bits), builder.CreateBitCast(no, bits));
  return builder.CreateBitCast(chosen, yes->getType());
}

llvm::Value *ProgramEmitter::firstLane(llvm::Value *vector) {
  llvm::Type *element = scalarOf(vector);
  if (!element->isBFloatTy())
    return builder.CreateExtractElement(vector, uint64_t(0));
  llvm::Value *bits = builder.CreateBitCast(vector, like(vector, builder.getInt16Ty()));
  return builder.CreateBitCast(builder.CreateExtractElement(bits, uint64_t(0)), element);
}

llvm::Value *lowerFloats(ProgramEmitter &p, Operation *op, Values v) {
  auto &b = p.builder;
  using Compute = llvm::function_ref<llvm::Value *(Values)>;
  auto inF = [&](Compute compute) { return inFloat(p, v, compute); };
  if (isa<arith::AddFOp>(op))
    return inF([&](Values v) { return b.CreateFAdd(v[0], v[1]); });
  if (isa<arith::SubFOp>(op))
    return inF([&](Values v) { return b.CreateFSub(v[0], v[1]); });
  if (isa<arith::MulFOp>(op))
    return inF([&](Values v) { return b.CreateFMul(v[0], v[1]); });
  if (isa<arith::DivFOp, PreciseDivFOp>(op))
    return inF([&](Values v) { return b.CreateFDiv(v[0], v[1]); });
  if (isa<arith::RemFOp>(op))
    return inF([&](Values v) { return remainder(p, v[0], v[1]); });
  if (isa<arith::NegFOp>(op))
    return inF([&](Values v) { return b.CreateFNeg(v[0]); });
  if (isa<arith::MaxNumFOp>(op))
    return binaryIntrinsic(p, llvm::Intrinsic::maxnum, v);
  if (isa<arith::MinNumFOp>(op))
    return binaryIntrinsic(p, llvm::Intrinsic::minnum, v);
  if (isa<arith::MaximumFOp>(op))
    return binaryIntrinsic(p, llvm::Intrinsic::maximum, v);
  if (isa<arith::MinimumFOp>(op))
    return binaryIntrinsic(p, llvm::Intrinsic::minimum, v);
  if (isa<PreciseSqrtOp>(op))
    return inF([&](Values v) { return b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, v[0]); });
  if (auto compareFloats = dyn_cast<arith::CmpFOp>(op))
    return b.CreateFCmp(codegen::predicateOf(compareFloats.getPredicate()), toFloat(p, v[0]),
                        toFloat(p, v[1]));
  if (isa<arith::SelectOp>(op)) {
    // A scalar condition may choose between vectors; the other way round all are vectors.
    return p.select(v[0], v[1], v[2]);
  }
  auto clamp = cast<ClampFOp>(op);
  auto lower = clamp.getPropagateNan() ? llvm::Intrinsic::maximum : llvm::Intrinsic::maxnum;
  auto upper = clamp.getPropagateNan() ? llvm::Intrinsic::minimum : llvm::Intrinsic::minnum;
  return inF([&](Values v) {
    return b.CreateBinaryIntrinsic(upper, b.CreateBinaryIntrinsic(lower, v[0], v[1]), v[2]);
  });
}

llvm::Value *lowerConversion(ProgramEmitter &p, Operation *op, Values v) {
  auto &b = p.builder;
  Type from = elementType(op->getOperand(0).getType()), to = elementType(op->getResult(0).getType());
  llvm::Type *element = p.type(to);
  if (isa<arith::FPToSIOp, arith::FPToUIOp>(op))
    return codegen::floatToInteger(b, v[0], element, isa<arith::FPToSIOp>(op));
  if (isa<arith::SIToFPOp, arith::UIToFPOp>(op))
    return codegen::integerToFloat(b, v[0], element, isa<arith::SIToFPOp>(op));
  auto convert = dyn_cast<FpToFpOp>(op);
  bool towardZero = convert && convert.getRounding() == Rounding::RTZ;
  return codegen::convertFloat(b, v[0], from, to, element, towardZero);
}

llvm::Value *floatOf(ProgramEmitter &p, llvm::Value *value, Type element) {
  if (!isByteFloat(element))
    return toFloat(p, value);
  return codegen::convertFloat(p.builder, value, element, Float32Type::get(element.getContext()),
                               p.builder.getFloatTy());
}

// An op with an 8-bit float among its types: computed in f32, rounded once.
static llvm::Value *lowerByteFloats(ProgramEmitter &p, Operation *op, Values operands) {
  auto &b = p.builder;
  llvm::IRBuilderBase::FastMathFlagGuard guard(b);
  b.clearFastMathFlags();
  Type to = elementType(op->getResult(0).getType()), computed = Float32Type::get(op->getContext());
  llvm::SmallVector<llvm::Value *, 3> wide;
  for (auto [operand, value] : llvm::zip(op->getOperands(), operands)) {
    Type element = elementType(operand.getType());
    wide.push_back(isByteFloat(element) ? floatOf(p, value, element) : value);
  }
  llvm::Value *result;
  if (isa<arith::SIToFPOp, arith::UIToFPOp>(op)) { // saturates long before f64 is inexact
    computed = Float64Type::get(op->getContext());
    llvm::Type *f64 = like(wide[0], b.getDoubleTy());
    result = isa<arith::SIToFPOp>(op) ? b.CreateSIToFP(wide[0], f64) : b.CreateUIToFP(wide[0], f64);
  } else {
    result = ops().find(op)->lowering.element(p, op, wide);
  }
  return isByteFloat(to) ? codegen::convertFloat(b, result, computed, to, p.type(to)) : result;
}

llvm::Value *lowerOp(ProgramEmitter &p, Operation *op, Values operands) {
  auto isByte = [](Type type) { return isByteFloat(elementType(type)); };
  bool hasBytes = llvm::any_of(op->getOperandTypes(), isByte) || llvm::any_of(op->getResultTypes(), isByte);
  // The others of a float of 8 bits look at its bits, or convert it in one step.
  if (hasBytes &&
      !isa<arith::SelectOp, BitcastOp, arith::BitcastOp, AddPtrOp, FpToFpOp, arith::ExtFOp, arith::TruncFOp>(
          op))
    return lowerByteFloats(p, op, operands);
  return ops().find(op)->lowering.element(p, op, operands);
}

} // namespace tegula::cpu
