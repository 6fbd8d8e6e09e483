#include "analysis/OpCost.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::analysis {

int64_t costOf(Operation *op, const OpCosts &costs) {
  if (isa<MakeRangeOp, SplatOp, ExpandDimsOp, BroadcastOp, TransOp, ReshapeOp, arith::ConstantOp>(op))
    return costs.position;
  if (isa<arith::DivFOp, PreciseDivFOp, PreciseSqrtOp, math::SqrtOp, math::RsqrtOp>(op))
    return costs.floatDivision;
  if (isa<arith::RemFOp>(op))
    return costs.floatRemainder;
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op)) {
    APInt divisor;
    if (!matchPattern(op->getOperand(1), m_ConstantInt(&divisor)))
      return costs.division;
    return divisor.isPowerOf2() ? costs.powerOfTwoDivision : costs.constantDivision;
  }
  if (isa<MulhiUIOp>(op))
    return costs.wideProduct;
  if (isa<math::AbsFOp, math::AbsIOp, math::FloorOp, math::CeilOp, math::FmaOp>(op))
    return costs.simpleMath;
  if (isa<math::ExpOp, math::Exp2Op, math::LogOp, math::Log2Op>(op))
    return costs.math;
  return isa<DirectedOp>(op) || isa<math::MathDialect>(op->getDialect()) ? costs.longMath : costs.simple;
}

} // namespace tegula::analysis
