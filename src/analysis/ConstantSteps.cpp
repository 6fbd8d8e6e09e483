#include "analysis/ConstantSteps.h"
#include "analysis/AxisFacts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::analysis {

namespace {

constexpr unsigned mostVisits = 256;              // of values, that a question may take
constexpr int64_t mostStep = int64_t(1) << 16;    // larger ones are nobody's neighbours; products of two fit
constexpr int64_t mostDivisor = int64_t(1) << 20; // larger powers of two are not asked for

int64_t bytesOfElement(Value pointers) {
  return bitsInMemory(cast<PointerType>(elementType(pointers.getType())).getPointee()) / 8;
}

std::optional<int64_t> constantOf(Value value, AxisInfoAnalysis &axes) { return axes.at(value).constant; }

// The greatest power of two known to divide each element.
int64_t divisorOf(Value value, AxisInfoAnalysis &axes) {
  const AxisInfo &info = axes.at(value);
  int64_t most = 1;
  for (unsigned d = 0; d != info.rank(); ++d)
    if (info.contiguity[d] == 1)
      most = std::max(most, info.divisibility[d]);
  return most;
}

bool isPointer(Value value) { return isa<PointerType>(elementType(value.getType())); }

unsigned extentAlong(Value tile, unsigned dim) {
  auto shape = shapeOf(tile.getType());
  return shape.empty() ? 1 : unsigned(llvm::bit_floor(uint64_t(shape[dim])));
}

Steps sumOf(const Steps &a, const Steps &b) {
  int64_t group = std::min(a.group, b.group);
  return {a.step + b.step, group, std::min(a.divisibilityAt(group), b.divisibilityAt(group))};
}

Steps timesConstant(Steps steps, int64_t factor) {
  steps.step *= factor;
  steps.divisibility =
      std::min(mostDivisor, steps.divisibility * std::min(mostDivisor, powerOfTwoIn(factor)));
  return steps;
}

// The first power of two at which integers like the value change their sign.
int64_t signOf(Value value) {
  Type element = elementType(value.getType());
  return int64_t(1) << (element.isIntOrFloat() ? std::min(62u, element.getIntOrFloatBitWidth() - 1) : 62u);
}

// Behind an extension of `value`: a group that begins at a multiple of all its steps does not wrap within.
Steps extended(Value value, Steps steps) {
  auto isWhole = [&] {
    return steps.step >= 0 && int64_t(llvm::PowerOf2Ceil(uint64_t(steps.step) * uint64_t(steps.group))) <=
                                  std::min(steps.divisibility, signOf(value));
  };
  while (steps.step != 0 && !isWhole()) {
    if (steps.group == 1)
      return {0, 1, steps.divisibility};
    int64_t half = steps.group / 2;
    steps = {steps.step, half, steps.divisibilityAt(half)};
  }
  return steps;
}

class Walk {
public:
  explicit Walk(AxisInfoAnalysis &axes) : axes_(axes) {}

  Steps of(Value value, unsigned dim) {
    Steps known = knownOf(value, dim);
    Operation *op = value.getDefiningOp();
    if (known.group >= extentAlong(value, dim) || !op || visits_ >= mostVisits)
      return known;
    ++visits_;
    Steps found = ruleOf(op, dim);
    found.divisibility = std::min(found.divisibility, mostDivisor);
    bool isSmall = std::abs(found.step) <= mostStep;
    return isSmall && found.group > known.group ? found : known;
  }

private:
  Steps knownOf(Value value, unsigned dim) {
    const AxisInfo &info = axes_.at(value);
    int64_t divisibility = std::min(info.divisibility[dim], mostDivisor);
    if (info.contiguity[dim] > info.constancy[dim])
      return {isPointer(value) ? bytesOfElement(value) : 1, info.contiguity[dim], divisibility};
    return {0, info.constancy[dim], std::min(divisibility, divisorOf(value, axes_))};
  }

  Steps ruleOf(Operation *op, unsigned dim) {
    if (auto expand = dyn_cast<ExpandDimsOp>(op)) {
      unsigned axis = unsigned(expand.getAxis());
      return dim == axis ? Steps() : of(op->getOperand(0), dim - (dim > axis));
    }
    if (isa<BroadcastOp>(op))
      return of(op->getOperand(0), dim);
    if (isa<arith::ExtSIOp, arith::ExtUIOp>(op))
      return extended(op->getOperand(0), of(op->getOperand(0), dim));
    if (isa<arith::AddIOp>(op))
      return sumOf(of(op->getOperand(0), dim), of(op->getOperand(1), dim));
    if (auto add = dyn_cast<AddPtrOp>(op))
      return sumOf(of(add.getPtr(), dim), timesConstant(extended(add.getOffset(), of(add.getOffset(), dim)),
                                                        bytesOfElement(add.getResult())));
    if (isa<arith::MulIOp, arith::ShLIOp>(op))
      for (unsigned i : {0u, 1u})
        if (std::optional<int64_t> factor = factorOf(op, i))
          return timesConstant(of(op->getOperand(i), dim), *factor);
    return {};
  }

  // The constant that the op multiplies its operand `index` by.
  std::optional<int64_t> factorOf(Operation *op, unsigned index) {
    std::optional<int64_t> constant = axes_.at(op->getOperand(1 - index)).constant;
    if (!isa<arith::ShLIOp>(op))
      return constant && std::abs(*constant) <= mostStep ? constant : std::nullopt;
    return index == 0 && constant && *constant >= 0 && *constant < 16 ? std::optional(int64_t(1) << *constant)
                                                                      : std::nullopt;
  }

  AxisInfoAnalysis &axes_;
  unsigned visits_ = 0;
};

// A sum's operand that is no constant, and the constant; none where it has none.
std::optional<std::pair<Value, int64_t>> splitSum(Value value, AxisInfoAnalysis &axes) {
  Operation *op = value.getDefiningOp();
  if (!isa_and_nonnull<arith::AddIOp, AddPtrOp>(op))
    return std::nullopt;
  for (unsigned i : {1u, 0u})
    if (std::optional<int64_t> constant = constantOf(op->getOperand(i), axes);
        constant && std::abs(*constant) <= mostStep)
      return std::pair(op->getOperand(1 - i), *constant);
  return std::nullopt;
}

class Distance {
public:
  explicit Distance(AxisInfoAnalysis &axes) : axes_(axes) {}

  std::optional<int64_t> of(Value from, Value to) {
    if (from == to)
      return 0;
    if (visits_ >= mostVisits || from.getType() != to.getType())
      return std::nullopt;
    ++visits_;
    if (auto a = constantOf(from, axes_), b = constantOf(to, axes_); a && b && !isPointer(from))
      return small(*b - *a);
    Operation *a = from.getDefiningOp(), *b = to.getDefiningOp();
    if (a && b && a->getName() == b->getName() && a->getNumOperands() == b->getNumOperands())
      if (std::optional<int64_t> found = ofOperands(a, b))
        return found;
    if (auto sum = splitSum(to, axes_))
      if (std::optional<int64_t> found = of(from, sum->first))
        return small(*found + sum->second);
    if (auto sum = splitSum(from, axes_))
      if (std::optional<int64_t> found = of(sum->first, to))
        return small(*found - sum->second);
    return std::nullopt;
  }

private:
  static std::optional<int64_t> small(int64_t distance) {
    return std::abs(distance) <= mostStep ? std::optional(distance) : std::nullopt;
  }

  // Behind an extension: the sum of the lesser of both and the distance does not wrap.
  std::optional<int64_t> extended(Value from, Value to) {
    std::optional<int64_t> found = of(from, to);
    if (!found || *found == 0)
      return found;
    Value least = *found > 0 ? from : to;
    return std::abs(*found) < std::min(divisorOf(least, axes_), signOf(least)) ? found : std::nullopt;
  }

  std::optional<int64_t> ofOperands(Operation *a, Operation *b) {
    if (isa<SplatOp, BroadcastOp>(a))
      return of(a->getOperand(0), b->getOperand(0));
    if (isa<ExpandDimsOp>(a))
      return a->getAttrs() == b->getAttrs() ? of(a->getOperand(0), b->getOperand(0)) : std::nullopt;
    if (isa<arith::ExtSIOp, arith::ExtUIOp>(a))
      return extended(a->getOperand(0), b->getOperand(0));
    if (isa<arith::AddIOp, AddPtrOp>(a)) {
      bool isWide = isa<AddPtrOp>(a);
      std::optional<int64_t> first = of(a->getOperand(0), b->getOperand(0)),
                             second = !first   ? std::nullopt
                                      : isWide ? extended(a->getOperand(1), b->getOperand(1))
                                               : of(a->getOperand(1), b->getOperand(1));
      return second ? small(*first + *second) : std::nullopt;
    }
    if (isa<arith::MulIOp>(a))
      for (unsigned i : {0u, 1u})
        if (a->getOperand(i) == b->getOperand(i))
          if (std::optional<int64_t> factor = constantOf(a->getOperand(i), axes_);
              factor && std::abs(*factor) <= mostStep)
            if (std::optional<int64_t> found = of(a->getOperand(1 - i), b->getOperand(1 - i)))
              return small(*found * *factor);
    return std::nullopt;
  }

  AxisInfoAnalysis &axes_;
  unsigned visits_ = 0;
};

} // namespace

int64_t Steps::divisibilityAt(int64_t size) const {
  return size >= group || step == 0 ? divisibility : std::min(divisibility, size * powerOfTwoIn(step));
}

Steps stepsAlong(Value tile, unsigned dim, AxisInfoAnalysis &axes) { return Walk(axes).of(tile, dim); }

std::optional<int64_t> distanceBetween(Value from, Value to, AxisInfoAnalysis &axes) {
  return Distance(axes).of(from, to);
}

int orderInPairs(Value a, Value b, AxisInfoAnalysis &axes) {
  // Asked of many pairs: one of the two alone begins pairs, and only then is the way between them walked.
  auto beginsPairs = [&](Value tile) { return divisorOf(tile, axes) >= 2 * bytesOfElement(tile); };
  bool isFirst = beginsPairs(a);
  if (isFirst == beginsPairs(b))
    return 0;
  std::optional<int64_t> distance = distanceBetween(a, b, axes);
  return distance == (isFirst ? 1 : -1) ? int(*distance) : 0;
}

} // namespace tegula::analysis
