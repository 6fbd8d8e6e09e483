// Quantization limits a value to what the narrow type holds, then converts it. The conversion saturates, so
// of both bounds only what they make of NaN is left to do: the first one makes a number of it, which the
// second one then need not see.
#include "ir/tile/Saturation.h"
#include "ir/tile/Tile.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

#include <optional>

using namespace mlir;

namespace tegula::tile {

namespace {

using llvm::APFloat;

// A number that each element is.
std::optional<APFloat> numberOf(Value value) {
  APFloat number(0.0);
  if (!matchPattern(value, m_ConstantFloat(&number)) || number.isNaN())
    return std::nullopt;
  bool isExact;
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &isExact);
  return number;
}

struct Limits {
  APFloat low, high;
};

// The least and the greatest value of an integer of 32 bits at most, or of a small float: both are exact as
// f64.
Limits limitsOf(Type narrow, bool isSigned) {
  unsigned bits = narrow.getIntOrFloatBitWidth();
  Limits limits{APFloat(0.0), APFloat(0.0)};
  if (auto type = dyn_cast<FloatType>(narrow)) {
    bool isExact;
    limits.high = APFloat::getLargest(type.getFloatSemantics());
    limits.high.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &isExact);
    limits.low = -limits.high;
  } else {
    auto set = [&](APFloat &limit, const llvm::APInt &value) {
      limit.convertFromAPInt(value, isSigned, APFloat::rmNearestTiesToEven);
    };
    set(limits.low, isSigned ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt(bits, 0));
    set(limits.high, isSigned ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits));
  }
  return limits;
}

// The numbers between which each element lies that is one; nullopt: they are not known.
std::optional<Limits> boundsOf(Value value) {
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<math::RoundEvenOp, math::RoundOp, math::FloorOp, math::CeilOp, math::TruncOp>(op)) {
    std::optional<Limits> bounds = boundsOf(op->getOperand(0));
    if (bounds) {
      bounds->low.roundToIntegral(APFloat::rmTowardNegative);
      bounds->high.roundToIntegral(APFloat::rmTowardPositive);
    }
    return bounds;
  }
  auto between = [](std::optional<APFloat> low, std::optional<APFloat> high) {
    return low && high && *low <= *high ? std::optional(Limits{*low, *high}) : std::nullopt;
  };
  if (auto clamp = dyn_cast_if_present<ClampFOp>(op))
    return between(numberOf(clamp.getMin()), numberOf(clamp.getMax()));
  // One of the bounds, around the other one.
  if (!isa_and_nonnull<arith::MaxNumFOp, arith::MaximumFOp, arith::MinNumFOp, arith::MinimumFOp>(op))
    return std::nullopt;
  bool isLower = isa<arith::MaxNumFOp, arith::MaximumFOp>(op);
  Operation *inner = op->getOperand(0).getDefiningOp();
  bool isOther = isLower ? isa_and_nonnull<arith::MinNumFOp, arith::MinimumFOp>(inner)
                         : isa_and_nonnull<arith::MaxNumFOp, arith::MaximumFOp>(inner);
  if (!isOther)
    return std::nullopt;
  std::optional<APFloat> outer = numberOf(op->getOperand(1)), bound = numberOf(inner->getOperand(1));
  return isLower ? between(outer, bound) : between(bound, outer);
}

bool isNeverNaN(Value value) {
  if (auto clamp = value.getDefiningOp<ClampFOp>())
    return !clamp.getPropagateNan() && (numberOf(clamp.getMin()) || numberOf(clamp.getMax()));
  Operation *op = value.getDefiningOp();
  return isa_and_nonnull<arith::MaxNumFOp, arith::MinNumFOp>(op) &&
         (numberOf(op->getOperand(0)) || numberOf(op->getOperand(1)));
}

template <class Cast> struct SkipSaturatedBounds : OpRewritePattern<Cast> {
  using OpRewritePattern<Cast>::OpRewritePattern;

  LogicalResult matchAndRewrite(Cast op, PatternRewriter &rewriter) const override {
    Type narrow = elementType(op->getResult(0).getType());
    Operation *bound = op->getOperand(0).getDefiningOp();
    if (!bound || narrow.getIntOrFloatBitWidth() > (isa<FloatType>(narrow) ? 8 : 32))
      return failure();
    const Limits limits = limitsOf(narrow, isa<arith::FPToSIOp>(op.getOperation()));
    auto isBelow = [&](Value value) {
      std::optional<APFloat> number = numberOf(value);
      return number && *number <= limits.low;
    };
    auto isAbove = [&](Value value) {
      std::optional<APFloat> number = numberOf(value);
      return number && *number >= limits.high;
    };
    auto skipTo = [&](Value value) {
      rewriter.modifyOpInPlace(op, [&] { op->setOperand(0, value); });
      return success();
    };
    if (auto clamp = dyn_cast<ClampFOp>(bound)) {
      if (!isAbove(clamp.getMax()))
        return failure();
      if (clamp.getPropagateNan())
        return isBelow(clamp.getMin()) ? skipTo(clamp.getValue()) : failure();
      if (!clamp->hasOneUse() || !numberOf(clamp.getMin()))
        return failure();
      return skipTo(arith::MaxNumFOp::create(rewriter, clamp.getLoc(), clamp.getValue(), clamp.getMin()));
    }
    if (bound->getNumOperands() != 2 || bound->getNumResults() != 1)
      return failure();
    Value value = bound->getOperand(0), limit = bound->getOperand(1);
    const bool isLower = isa<arith::MaxNumFOp, arith::MaximumFOp>(bound);
    if (isLower ? !isBelow(limit) : !isa<arith::MinNumFOp, arith::MinimumFOp>(bound) || !isAbove(limit))
      return failure();
    // NaN becomes 0 as an integer, which is the lower bound of one without a sign.
    bool isSame = isa<arith::MinimumFOp, arith::MaximumFOp>(bound) || isNeverNaN(value) ||
                  (isLower && isa<arith::FPToUIOp>(op.getOperation()));
    return isSame ? skipTo(value) : failure();
  }
};

// A number that 8 bits hold is converted to these at once, where the conversion to 16 bits would saturate
// later.
struct ConvertToBytes : OpRewritePattern<arith::TruncIOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncIOp op, PatternRewriter &rewriter) const override {
    Operation *wide = op.getIn().getDefiningOp();
    Type narrow = elementType(op.getType());
    if (!narrow.isInteger(8) || !isa_and_nonnull<arith::FPToSIOp, arith::FPToUIOp>(wide))
      return failure();
    bool isSigned = isa<arith::FPToSIOp>(wide);
    std::optional<Limits> bounds = boundsOf(wide->getOperand(0));
    const Limits limits = limitsOf(narrow, isSigned);
    if (!bounds || bounds->low < limits.low || bounds->high > limits.high)
      return failure();
    if (isSigned)
      rewriter.replaceOpWithNewOp<arith::FPToSIOp>(op, op.getType(), wide->getOperand(0));
    else
      rewriter.replaceOpWithNewOp<arith::FPToUIOp>(op, op.getType(), wide->getOperand(0));
    return success();
  }
};

} // namespace

void addSaturationPatterns(RewritePatternSet &patterns) {
  patterns.add<ConvertToBytes, SkipSaturatedBounds<FpToFpOp>, SkipSaturatedBounds<arith::FPToSIOp>,
               SkipSaturatedBounds<arith::FPToUIOp>>(patterns.getContext());
}

} // namespace tegula::tile
