#include "analysis/Ranges.h"

#include "mlir/IR/Matchers.h"

#include <algorithm>

using namespace mlir;
using namespace tegula::tile;

namespace tegula::analysis {

namespace {

constexpr int64_t limit = int64_t(1) << 62;
// Deeper expressions are taken for what memory holds: the stack is bounded.
constexpr unsigned mostDepth = 200;

int64_t cut(__int128 value) { return int64_t(std::clamp<__int128>(value, -limit, limit)); }

unsigned widthOf(Value value) {
  auto integer = dyn_cast<IntegerType>(elementType(value.getType()));
  return integer ? integer.getWidth() : 64; // an index
}

Range ofType(unsigned width) {
  return width >= 63 ? Range{-limit, limit}
                     : Range{-(int64_t(1) << (width - 1)), (int64_t(1) << (width - 1)) - 1};
}

// The range of a value of which nothing is known.
Range assumed(Value value, int64_t low = 0) {
  unsigned width = widthOf(value);
  return width == 1 ? Range{0, 1, true} : Range{low, ofType(width).high};
}

Range sum(const Range &a, const Range &b) {
  return {cut(__int128(a.low) + b.low), cut(__int128(a.high) + b.high), a.isKnown && b.isKnown};
}

Range difference(const Range &a, const Range &b) {
  return {cut(__int128(a.low) - b.high), cut(__int128(a.high) - b.low), a.isKnown && b.isKnown};
}

Range product(const Range &a, const Range &b) {
  __int128 ends[] = {__int128(a.low) * b.low, __int128(a.low) * b.high, __int128(a.high) * b.low,
                     __int128(a.high) * b.high};
  auto [low, high] = std::minmax_element(std::begin(ends), std::end(ends));
  return {cut(*low), cut(*high), a.isKnown && b.isKnown};
}

Range either(const Range &a, const Range &b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high), a.isKnown && b.isKnown};
}

// Division and remainder as the language has them: towards zero.
Range quotient(const Range &a, const Range &b, Value value) {
  if (b.low <= 0)
    return assumed(value, a.low < 0 ? ofType(widthOf(value)).low : 0);
  int64_t low = a.low < 0 ? a.low / b.low : a.low / b.high,
          high = a.high < 0 ? a.high / b.high : a.high / b.low;
  return {low, high, a.isKnown && b.isKnown};
}

Range remainder(const Range &a, const Range &b) {
  int64_t most = std::max(std::abs(b.low), std::abs(b.high)) - 1;
  return {a.low < 0 ? std::max(a.low, -most) : 0, std::min(std::max<int64_t>(a.high, 0), most),
          a.isKnown && b.isKnown};
}

std::optional<Range> ofConstant(Value value) {
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  if (!constant)
    return std::nullopt;
  bool isFlag = widthOf(value) == 1;
  auto number = [&](const APInt &bits) {
    return isFlag ? int64_t(bits.getZExtValue()) : cut(bits.getSExtValue());
  };
  if (auto integer = dyn_cast<IntegerAttr>(constant.getValue()))
    return Range{number(integer.getValue()), number(integer.getValue()), true};
  auto dense = dyn_cast<DenseIntElementsAttr>(constant.getValue());
  if (!dense || dense.empty())
    return std::nullopt;
  Range range{limit, -limit, true};
  for (const APInt &bits : dense.getValues<APInt>()) {
    range.low = std::min(range.low, number(bits));
    range.high = std::max(range.high, number(bits));
    if (dense.isSplat())
      break;
  }
  return range;
}

} // namespace

Range Ranges::at(Value value) {
  if (auto found = ranges_.find(value); found != ranges_.end())
    return found->second;
  if (depth_ == mostDepth)
    return assumed(value);
  ranges_[value] = assumed(value); // what a loop carries asks for itself
  ++depth_;
  Range range = compute(value);
  --depth_;
  Range most = ofType(widthOf(value));
  if (widthOf(value) != 1 && (range.low < most.low || range.high > most.high))
    range = range.isKnown ? Range{most.low, most.high} // it wraps
                          : Range{std::max(range.low, most.low), std::min(range.high, most.high)};
  return ranges_[value] = range;
}

Range Ranges::compute(Value value) {
  if (!isa<IntegerType, IndexType>(elementType(value.getType())))
    return assumed(value);
  if (auto constant = ofConstant(value))
    return *constant;
  if (auto argument = dyn_cast<BlockArgument>(value))
    return ofArgument(argument);
  return ofOp(value.getDefiningOp(), cast<OpResult>(value).getResultNumber());
}

// Is `next` one more or one less than `value`?
static bool areNeighbours(Value value, Value next) {
  Operation *op = next.getDefiningOp();
  if (!op || !isa<arith::AddIOp, arith::SubIOp>(op) || op->getOperand(0) != value)
    return false;
  std::optional<Range> by = ofConstant(op->getOperand(1));
  return by && by->low == by->high && std::abs(by->low) == 1;
}

Range Ranges::unwrapped(Operation *op) {
  Value x = op->getOperand(0), y = op->getOperand(1);
  Range a = at(x), b = at(y);
  if (isa<arith::AddIOp>(op))
    return sum(a, b);
  if (isa<arith::SubIOp>(op))
    return difference(a, b);
  Range range = product(a, b);
  if (areNeighbours(x, y) || areNeighbours(y, x))
    range.low = std::max<int64_t>(range.low, 0); // `i * (i - 1)`, twice the numbers of a triangle
  return range;
}

// The range of a value where a condition holds, or where it does not: `low > high` where it never does.
Range Ranges::under(Range range, Value value, Value condition, bool holds) {
  Operation *op = condition.getDefiningOp();
  if (op && (holds ? isa<arith::AndIOp>(op) : isa<arith::OrIOp>(op)) && depth_ < mostDepth) {
    ++depth_;
    for (Value operand : op->getOperands())
      range = under(range, value, operand, holds);
    --depth_;
    return range;
  }
  auto compare = dyn_cast_or_null<arith::CmpIOp>(op);
  if (!compare || (compare.getLhs() != value && compare.getRhs() != value))
    return range;
  using P = arith::CmpIPredicate;
  bool isLeft = compare.getLhs() == value;
  Range bound = at(isLeft ? compare.getRhs() : compare.getLhs());
  P predicate = holds ? compare.getPredicate() : arith::invertPredicate(compare.getPredicate());
  bool isBelow = predicate == P::slt || predicate == P::sle,
       isAbove = predicate == P::sgt || predicate == P::sge;
  if (!bound.isKnown || (!isBelow && !isAbove))
    return range;
  int64_t strict = predicate == P::slt || predicate == P::sgt;
  if (isBelow == isLeft)
    range.high = std::min(range.high, bound.high - strict);
  else
    range.low = std::max(range.low, bound.low + strict);
  return range;
}

Range Ranges::chosen(arith::SelectOp select) {
  auto of = [&](Value value, bool holds) { return under(at(value), value, select.getCondition(), holds); };
  Range a = of(select.getTrueValue(), true), b = of(select.getFalseValue(), false);
  if (a.low > a.high || b.low > b.high)
    return a.low > a.high ? at(select.getFalseValue()) : a;
  return either(a, b);
}

Range Ranges::ofOp(Operation *op, unsigned result) {
  Value value = op->getResult(result);
  auto operand = [&](unsigned i) { return at(op->getOperand(i)); };
  if (isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
    return unwrapped(op);
  if (isa<SplatOp, UnsplatOp, BroadcastOp, ExpandDimsOp, TransOp, ReshapeOp, arith::ExtSIOp, arith::ExtUIOp,
          arith::IndexCastOp>(op)) {
    Range range = operand(0);
    bool isReinterpreted = isa<arith::ExtUIOp>(op) && range.low < 0;
    return isReinterpreted ? assumed(value) : range;
  }
  if (isa<arith::TruncIOp>(op)) {
    Range range = operand(0), most = ofType(widthOf(value));
    return range.low >= most.low && range.high <= most.high ? range : assumed(value);
  }
  if (auto range = dyn_cast<MakeRangeOp>(op))
    return {int32_t(range.getStart()), int64_t(int32_t(range.getEnd())) - 1, true};
  if (isa<arith::DivSIOp>(op))
    return quotient(operand(0), operand(1), value);
  if (isa<arith::RemSIOp>(op))
    return remainder(operand(0), operand(1));
  if (isa<arith::MinSIOp>(op)) {
    Range a = operand(0), b = operand(1);
    return {std::min(a.low, b.low), std::min(a.high, b.high), a.isKnown && b.isKnown};
  }
  if (isa<arith::MaxSIOp>(op)) {
    Range a = operand(0), b = operand(1);
    return {std::max(a.low, b.low), std::max(a.high, b.high), a.isKnown && b.isKnown};
  }
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return chosen(select);
  if (isa<arith::AndIOp>(op) && widthOf(value) > 1) {
    Range a = operand(0), b = operand(1);
    int64_t most = std::min(a.low < 0 ? limit : a.high, b.low < 0 ? limit : b.high);
    return most == limit ? assumed(value) : Range{0, most, a.isKnown && b.isKnown};
  }
  if (isa<arith::ShLIOp, arith::ShRSIOp>(op)) {
    Range a = operand(0), by = operand(1);
    if (by.low != by.high || by.low < 0 || by.low > 61)
      return assumed(value);
    int64_t factor = int64_t(1) << by.low;
    if (isa<arith::ShLIOp>(op))
      return product(a, {factor, factor, by.isKnown});
    return {a.low >> by.low, a.high >> by.low, a.isKnown && by.isKnown};
  }
  if (auto id = dyn_cast<GetProgramIdOp>(op))
    return given_.grid ? Range{0, std::max<int64_t>(0, (*given_.grid)[id.getAxis()] - 1), true}
                       : assumed(value);
  if (auto count = dyn_cast<GetNumProgramsOp>(op))
    return given_.grid ? Range{(*given_.grid)[count.getAxis()], (*given_.grid)[count.getAxis()], true}
                       : assumed(value, 1);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return either(at(branch.thenYield().getOperand(result)), at(branch.elseYield().getOperand(result)));
  return assumed(value);
}

Range Ranges::ofArgument(BlockArgument argument) {
  Operation *parent = argument.getOwner()->getParentOp();
  unsigned number = argument.getArgNumber();
  if (isa<FuncOp>(parent)) {
    bool isGiven = number < given_.arguments.size() && given_.arguments[number];
    return isGiven ? Range{cut(*given_.arguments[number]), cut(*given_.arguments[number]), true}
                   : assumed(argument, 1);
  }
  auto loop = dyn_cast<scf::ForOp>(parent);
  if (!loop)
    return assumed(argument);
  if (argument != loop.getInductionVar())
    return carried(loop, number - 1);
  Range lower = at(loop.getLowerBound()), upper = at(loop.getUpperBound()), step = at(loop.getStep());
  if (lower.low == lower.high && trips(loop)) {
    int64_t last = lower.low + std::max<int64_t>(0, *trips(loop) - 1) * step.low;
    return {lower.low, last, true};
  }
  // Bounds that differ between programs go together with what else does: no exact end.
  return {lower.low, std::max(lower.low, upper.high - 1)};
}

std::optional<int64_t> Ranges::trips(scf::ForOp loop) {
  Range lower = at(loop.getLowerBound()), upper = at(loop.getUpperBound()), step = at(loop.getStep());
  bool isOne = lower.low == lower.high && upper.low == upper.high && step.low == step.high && step.low > 0;
  if (!isOne || !lower.isKnown || !upper.isKnown || !step.isKnown)
    return std::nullopt;
  return upper.low <= lower.low ? 0 : (upper.low - lower.low - 1) / step.low + 1;
}

// A sum that a loop carries: what is added each trip, from the first value on.
Range Ranges::carried(scf::ForOp loop, unsigned number) {
  BlockArgument argument = loop.getRegionIterArg(number);
  auto add = loop.getBody()->getTerminator()->getOperand(number).getDefiningOp<arith::AddIOp>();
  bool isSum = add && (add.getLhs() == argument || add.getRhs() == argument);
  Range first = at(loop.getInitArgs()[number]);
  if (!isSum)
    return assumed(argument, std::min<int64_t>(first.low, 0));
  Range step = at(add.getLhs() == argument ? add.getRhs() : add.getLhs());
  auto count = trips(loop);
  if (step.isKnown && count)
    return sum(first, product({0, std::max<int64_t>(0, *count - 1), true}, step));
  Range most = ofType(widthOf(argument));
  return {step.low >= 0 ? first.low : most.low, most.high};
}

} // namespace tegula::analysis
