// Quantization limits a value to what the narrow type holds, then converts it. The conversion saturates, so
// of both bounds only what they make of NaN is left to do: the first one makes a number of it, which the
// second one then need not see.
#include "ir/tile/Saturation.h"
#include "ir/tile/Tile.h"

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

} // namespace

void addSaturationPatterns(RewritePatternSet &patterns) {
  patterns.add<SkipSaturatedBounds<FpToFpOp>, SkipSaturatedBounds<arith::FPToSIOp>,
               SkipSaturatedBounds<arith::FPToUIOp>>(patterns.getContext());
}

} // namespace tegula::tile
