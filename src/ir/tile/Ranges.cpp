// Ranges of integers, a rule an op. A range that the arithmetic may leave is the whole type's: results wrap.
#include "ir/tile/Ranges.h"

#include "ir/tile/Tile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

#include <algorithm>
#include <limits>

using namespace mlir;

namespace tegula::tile {

namespace {

using Range = IntegerRange;

unsigned bitsOf(Value value) {
  Type element = elementType(value.getType());
  return element.isIndex() ? 64 : element.isInteger() ? element.getIntOrFloatBitWidth() : 0;
}

Range rangeOfType(Value value) {
  unsigned bits = bitsOf(value);
  if (bits == 0 || bits >= 64)
    return {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
  int64_t half = int64_t(1) << (bits - 1);
  return {-half, half - 1};
}

bool fits(Range range, Range type) { return range.least >= type.least && range.greatest <= type.greatest; }

// The range of a sum, difference or product of the ends, if none of them leaves 64 bits.
template <class Overflows> std::optional<Range> ofEnds(Range a, Range b, Overflows overflows) {
  std::optional<Range> result;
  for (int64_t x : {a.least, a.greatest})
    for (int64_t y : {b.least, b.greatest}) {
      int64_t end;
      if (overflows(x, y, &end))
        return std::nullopt;
      result =
          result ? Range{std::min(result->least, end), std::max(result->greatest, end)} : Range{end, end};
    }
  return result;
}

std::optional<Range> ofArithmetic(Operation *op, Range a, Range b) {
  if (isa<arith::AddIOp>(op))
    return ofEnds(a, b, [](int64_t x, int64_t y, int64_t *to) { return __builtin_add_overflow(x, y, to); });
  if (isa<arith::SubIOp>(op))
    return ofEnds(a, b, [](int64_t x, int64_t y, int64_t *to) { return __builtin_sub_overflow(x, y, to); });
  if (isa<arith::MulIOp>(op))
    return ofEnds(a, b, [](int64_t x, int64_t y, int64_t *to) { return __builtin_mul_overflow(x, y, to); });
  if (isa<arith::MaxSIOp>(op))
    return Range{std::max(a.least, b.least), std::max(a.greatest, b.greatest)};
  if (isa<arith::MinSIOp>(op))
    return Range{std::min(a.least, b.least), std::min(a.greatest, b.greatest)};
  if (isa<arith::DivSIOp>(op) && b.least > 0)
    return Range{a.least / (a.least < 0 ? b.least : b.greatest),
                 a.greatest / (a.greatest > 0 ? b.least : b.greatest)};
  if (isa<arith::RemSIOp>(op) && b.least > 0)
    return Range{a.least < 0 ? 1 - b.greatest : 0, a.greatest > 0 ? b.greatest - 1 : 0};
  return std::nullopt;
}

// A carried number that each trip adds a small constant to. So many trips that 64 bits overflow do not
// happen.
std::optional<Range> ofCarried(scf::ForOp loop, BlockArgument argument, unsigned depth) {
  constexpr int64_t mostStep = 1 << 20, mostStart = int64_t(1) << 62;
  OpOperand *start = loop.getTiedLoopInit(argument);
  Value next = loop.getTiedLoopYieldedValue(argument)->get();
  auto sum = next.getDefiningOp<arith::AddIOp>();
  if (!sum || bitsOf(argument) != 64)
    return std::nullopt;
  Value step = sum.getLhs() == argument ? sum.getRhs() : sum.getRhs() == argument ? sum.getLhs() : Value();
  APInt number;
  if (!step || !matchPattern(step, m_ConstantInt(&number)) || number.isNegative() || number.sgt(mostStep))
    return std::nullopt;
  Range first = rangeOf(start->get(), depth);
  if (first.least < 0 || first.greatest > mostStart)
    return std::nullopt;
  return Range{first.least, std::numeric_limits<int64_t>::max()};
}

std::optional<Range> ofArgument(BlockArgument argument, unsigned depth) {
  auto loop = dyn_cast_if_present<scf::ForOp>(argument.getOwner()->getParentOp());
  if (!loop || loop.getUnsignedCmp())
    return std::nullopt;
  if (argument != loop.getInductionVar())
    return ofCarried(loop, argument, depth);
  Range from = rangeOf(loop.getLowerBound(), depth), to = rangeOf(loop.getUpperBound(), depth);
  if (from.least >= to.greatest) // never runs, as far as is known
    return std::nullopt;
  return Range{from.least, to.greatest - 1};
}

std::optional<Range> ofConstant(arith::ConstantOp constant) {
  auto number = [](const APInt &value) {
    int64_t known = value.getBitWidth() <= 64 ? value.getSExtValue() : 0;
    return value.getBitWidth() <= 64 ? std::optional(Range{known, known}) : std::nullopt;
  };
  if (auto integer = dyn_cast<IntegerAttr>(constant.getValue()))
    return number(integer.getValue());
  auto dense = dyn_cast<DenseIntElementsAttr>(constant.getValue());
  return dense && dense.isSplat() ? number(dense.getSplatValue<APInt>()) : std::nullopt;
}

std::optional<Range> ofOp(Operation *op, unsigned depth) {
  auto operand = [&](unsigned i) { return rangeOf(op->getOperand(i), depth); };
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return ofConstant(constant);
  if (auto range = dyn_cast<MakeRangeOp>(op))
    return Range{int32_t(range.getStart()), int64_t(int32_t(range.getEnd())) - 1};
  if (isa<GetProgramIdOp, GetNumProgramsOp>(op))
    return Range{0, std::numeric_limits<int32_t>::max()};
  if (isa<SplatOp, ExpandDimsOp, BroadcastOp, ReshapeOp, TransOp, UnsplatOp, arith::TruncIOp>(op))
    return bitsOf(op->getOperand(0)) ? std::optional(operand(0)) : std::nullopt;
  if (isa<arith::ExtSIOp>(op) && bitsOf(op->getOperand(0)) > 1)
    return operand(0);
  if (isa<arith::ExtUIOp>(op) && operand(0).least >= 0)
    return operand(0);
  if (isa<arith::SelectOp>(op) && bitsOf(op->getResult(0))) {
    Range a = operand(1), b = operand(2);
    return Range{std::min(a.least, b.least), std::max(a.greatest, b.greatest)};
  }
  bool isBinary = isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::MaxSIOp, arith::MinSIOp,
                      arith::DivSIOp, arith::RemSIOp>(op);
  return isBinary ? ofArithmetic(op, operand(0), operand(1)) : std::nullopt;
}

// The answer that `predicate` gives for all values in the two ranges, if there is one.
std::optional<bool> decide(arith::CmpIPredicate predicate, Range a, Range b) {
  using P = arith::CmpIPredicate;
  auto answer = [](bool isTrue, bool isFalse) {
    return isTrue ? std::optional(true) : isFalse ? std::optional(false) : std::nullopt;
  };
  switch (predicate) {
  case P::slt: return answer(a.greatest < b.least, a.least >= b.greatest);
  case P::sle: return answer(a.greatest <= b.least, a.least > b.greatest);
  case P::sgt: return answer(a.least > b.greatest, a.greatest <= b.least);
  case P::sge: return answer(a.least >= b.greatest, a.greatest < b.least);
  default: return std::nullopt;
  }
}

struct DecideComparison : OpRewritePattern<arith::CmpIOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::CmpIOp op, PatternRewriter &rewriter) const override {
    if (bitsOf(op.getLhs()) <= 1)
      return failure();
    auto answer = decide(op.getPredicate(), rangeOf(op.getLhs()), rangeOf(op.getRhs()));
    if (!answer)
      return failure();
    TypedAttr value = rewriter.getBoolAttr(*answer);
    if (auto tile = dyn_cast<RankedTensorType>(op.getType()))
      value = DenseElementsAttr::get(tile, *answer);
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(op, value);
    return success();
  }
};

// Does a loop around an op count up to the number? Then something is below it in each trip.
bool isEndOfLoop(Value number, Operation *op) {
  for (auto loop = op->getParentOfType<scf::ForOp>(); loop; loop = loop->getParentOfType<scf::ForOp>())
    if (loop.getUpperBound() == number && !loop.getUnsignedCmp())
      return true;
  return false;
}

// `x <= n - 1` is `x < n` where n is not the least number of all, of which n - 1 is the greatest.
struct CompareWithNext : OpRewritePattern<arith::CmpIOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::CmpIOp op, PatternRewriter &rewriter) const override {
    using P = arith::CmpIPredicate;
    P predicate = op.getPredicate();
    bool isLeft = predicate == P::sge || predicate == P::slt; // n - 1 >= x, n - 1 < x
    if (!isLeft && predicate != P::sle && predicate != P::sgt)
      return failure();
    Value less = isLeft ? op.getLhs() : op.getRhs(), other = isLeft ? op.getRhs() : op.getLhs();
    Value next = nextOf(less);
    if (!next || !isEndOfLoop(next, op)) // the end of a loop is a scalar
      return failure();
    if (auto tile = dyn_cast<RankedTensorType>(less.getType()))
      next = SplatOp::create(rewriter, op.getLoc(), tile, next);
    bool isWithin = predicate == P::sle || predicate == P::sge;
    rewriter.replaceOpWithNewOp<arith::CmpIOp>(op, isWithin ? P::slt : P::sge, other, next);
    return success();
  }
};

// The one of two numbers that is never less, or never greater.
template <class Op, bool isMax> struct DecideExtreme : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    Range a = rangeOf(op.getLhs()), b = rangeOf(op.getRhs());
    if (bitsOf(op.getLhs()) <= 1 || (a.least < b.greatest && b.least < a.greatest))
      return failure();
    rewriter.replaceOp(op, (a.least >= b.greatest) == isMax ? op.getLhs() : op.getRhs());
    return success();
  }
};

} // namespace

Value nextOf(Value value) {
  Operation *op = value.getDefiningOp();
  while (isa_and_nonnull<SplatOp, BroadcastOp, ExpandDimsOp>(op))
    op = op->getOperand(0).getDefiningOp();
  APInt by;
  if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op) ||
      !matchPattern(op->getOperand(1), m_ConstantInt(&by)))
    return {};
  return (isa<arith::SubIOp>(op) ? by.isOne() : by.isAllOnes()) ? op->getOperand(0) : Value();
}

Range rangeOf(Value value, unsigned depth) {
  Range type = rangeOfType(value);
  if (depth == 0)
    return type;
  Operation *op = value.getDefiningOp();
  auto range = op ? ofOp(op, depth - 1) : ofArgument(cast<BlockArgument>(value), depth - 1);
  return range && fits(*range, type) ? *range : type;
}

void addRangePatterns(RewritePatternSet &patterns) {
  patterns.add<DecideComparison, CompareWithNext, DecideExtreme<arith::MaxSIOp, true>,
               DecideExtreme<arith::MinSIOp, false>>(patterns.getContext());
}

} // namespace tegula::tile
