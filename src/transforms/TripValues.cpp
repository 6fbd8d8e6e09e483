#include "transforms/TripValues.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

using namespace mlir;

namespace tegula::transforms {

namespace {

double powerOfTwo(unsigned bits) { return bits < 64 ? std::ldexp(1.0, int(bits)) : HUGE_VAL; }

// The most trips of a loop for which values are computed: the last trip's number times 32 bits fits.
constexpr int64_t mostTrips = int64_t(1) << 31;

} // namespace

Value withoutExtension(Value value) {
  while (auto extension = value.getDefiningOp<arith::ExtSIOp>())
    value = extension.getIn();
  return value;
}

constexpr unsigned widest = 64; // bits of a number

// Of what an op makes of numbers of 64 bits that are known to be smaller, indices say, which a program widens
// before it divides them.
static unsigned bitsOfResult(Operation *op, unsigned depth);

// `depth`: of the ops that may be looked at, one behind the other.
static unsigned bitsOf(Value scalar, unsigned depth) {
  APInt constant;
  if (matchPattern(scalar, m_ConstantInt(&constant)))
    return constant.getSignificantBits() - 1;
  scalar = withoutExtension(scalar);
  auto type = dyn_cast<IntegerType>(scalar.getType());
  if (!type || type.getWidth() == 1 || type.getWidth() > widest)
    return widest;
  unsigned bits = type.getWidth() - 1;
  Operation *op = type.getWidth() == widest && depth != 0 ? scalar.getDefiningOp() : nullptr;
  return op ? std::min(bits, bitsOfResult(op, depth - 1)) : bits;
}

static unsigned bitsOfResult(Operation *op, unsigned depth) {
  auto of = [&](unsigned operand) { return bitsOf(op->getOperand(operand), depth); };
  unsigned bits = widest;
  if (auto extension = dyn_cast<arith::ExtUIOp>(op))
    bits = extension.getIn().getType().getIntOrFloatBitWidth();
  else if (isa<arith::DivSIOp, arith::ShRSIOp>(op))
    bits = of(0);
  else if (isa<arith::RemSIOp>(op))
    bits = std::min(of(0), of(1));
  else if (isa<arith::MinSIOp, arith::MaxSIOp>(op))
    bits = std::max(of(0), of(1));
  else if (isa<arith::SelectOp>(op))
    bits = std::max(of(1), of(2));
  else if (isa<arith::AddIOp, arith::SubIOp>(op))
    bits = std::max(of(0), of(1)) + 1;
  else if (isa<arith::MulIOp>(op))
    bits = of(0) + of(1);
  return bits;
}

unsigned bitsOf(Value scalar) {
  constexpr unsigned deepest = 8;
  return bitsOf(scalar, deepest);
}

TripValues::TripValues(OpBuilder &ahead, scf::ForOp loop) : b_(ahead), loop_(loop) {}

Value TripValues::constant(int64_t number) {
  return arith::ConstantOp::create(b_, loop_.getLoc(), b_.getI64IntegerAttr(number));
}

void TripValues::also(Value holds) {
  condition_ = condition_ ? b_.createOrFold<arith::AndIOp>(loop_.getLoc(), condition_, holds) : holds;
}

void TripValues::demandRange(const InTrips &value, unsigned bits) {
  Location loc = loop_.getLoc();
  for (Value end : {value.first, value.last}) {
    // One comparison of what is moved to begin at 0.
    Value moved = b_.createOrFold<arith::AddIOp>(loc, end, constant(int64_t(1) << (bits - 1)));
    also(b_.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, moved, constant(int64_t(1) << bits)));
    if (!value.varies)
      break;
  }
}

InTrips TripValues::invariant(Value scalar) {
  Value wide = scalar.getType().isInteger(64)
                   ? scalar
                   : b_.createOrFold<arith::ExtSIOp>(loop_.getLoc(), b_.getI64Type(), scalar);
  return {wide, wide, wide, powerOfTwo(bitsOf(scalar)), false, 0};
}

std::optional<InTrips> TripValues::of(Value scalar) {
  if (auto found = known_.find(scalar); found != known_.end())
    return found->second;
  std::optional<InTrips> result = compute(scalar); // it asks for others: first it, then its place
  known_.try_emplace(scalar, result);
  return result;
}

std::optional<InTrips> TripValues::of(const analysis::Polynomial &polynomial) {
  std::optional<InTrips> sum;
  for (const analysis::Monomial &term : polynomial.terms()) {
    Value coefficient = constant(term.coefficient);
    std::optional<InTrips> product =
        InTrips{coefficient, coefficient, coefficient, std::abs(double(term.coefficient)), false, 0};
    for (const analysis::Factor &factor : term.factors) {
      std::optional<InTrips> value = factor.isTile() ? std::nullopt : of(factor.value);
      product = value ? multiply(*product, *value, 64) : std::nullopt;
      if (!product)
        return std::nullopt;
    }
    sum = sum ? apply<arith::AddIOp>(*sum, *product, sum->size + product->size, 64) : product;
  }
  Value zero = constant(0);
  return sum ? sum : InTrips{zero, zero, zero, 0, false, 0};
}

namespace {

template <typename Op> std::optional<int64_t> slopeOf(const InTrips &x, const InTrips &y) {
  int64_t result;
  if (std::is_same_v<Op, arith::MulIOp>) {
    const InTrips &factor = x.varies ? y : x, &other = x.varies ? x : y;
    APInt constant;
    if (other.slope == 0)
      return 0;
    if (!other.slope || !matchPattern(factor.first, m_ConstantInt(&constant)))
      return std::nullopt;
    return llvm::MulOverflow(*other.slope, constant.getSExtValue(), result) ? std::nullopt
                                                                            : std::optional(result);
  }
  if (!x.slope || !y.slope)
    return std::nullopt;
  bool overflows = std::is_same_v<Op, arith::SubIOp> ? llvm::SubOverflow(*x.slope, *y.slope, result)
                                                     : llvm::AddOverflow(*x.slope, *y.slope, result);
  return overflows ? std::nullopt : std::optional(result);
}

} // namespace

template <typename Op>
std::optional<InTrips> TripValues::apply(InTrips x, InTrips y, double size, unsigned bits) {
  Location loc = loop_.getLoc();
  InTrips result;
  result.varies = x.varies || y.varies;
  result.first = b_.createOrFold<Op>(loc, x.first, y.first);
  result.second = result.varies ? b_.createOrFold<Op>(loc, x.second, y.second) : result.first;
  result.last = result.varies ? b_.createOrFold<Op>(loc, x.last, y.last) : result.first;
  result.size = size;
  result.slope = slopeOf<Op>(x, y);
  if (bits < 64) {
    demandRange(result, bits);
    result.size = powerOfTwo(bits - 1);
  }
  return result;
}

std::optional<InTrips> TripValues::multiply(const InTrips &x, const InTrips &y, unsigned bits) {
  if (x.varies && y.varies)
    return std::nullopt;
  return apply<arith::MulIOp>(x, y, x.size * y.size, bits);
}

std::optional<InTrips> TripValues::ofBounds() {
  Location loc = loop_.getLoc();
  Value begin = loop_.getLowerBound(), end = loop_.getUpperBound(), step = loop_.getStep();
  APInt number;
  std::optional<int64_t> slope;
  if (matchPattern(step, m_ConstantInt(&number)))
    slope = number.getSExtValue();
  if (slope.value_or(1) <= 0 || !loop_.getInductionVar().getType().isInteger() || loop_.getUnsignedCmp() ||
      bitsOf(begin) > 31 || bitsOf(end) > 31 || bitsOf(step) > 31)
    return std::nullopt;
  InTrips first = invariant(begin), behind = invariant(end);
  if (!lastTrip_) {
    stride_ = invariant(step).first;
    if (!slope) { // a step of none leads nowhere, and divides nothing
      also(b_.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::sgt, stride_, constant(0)));
      stride_ = b_.createOrFold<arith::MaxSIOp>(loc, stride_, constant(1));
    }
    // Division rounds towards 0: of a distance of at most 0 the number of trips is at most 0, too.
    Value distance = b_.createOrFold<arith::SubIOp>(loc, behind.first, first.first);
    Value more = b_.createOrFold<arith::AddIOp>(loc, distance,
                                                b_.createOrFold<arith::SubIOp>(loc, stride_, constant(1)));
    Value count = b_.createOrFold<arith::DivSIOp>(loc, more, stride_);
    lastTrip_ = b_.createOrFold<arith::SubIOp>(loc, count, constant(1));
    if (slope.value_or(1) == 1)
      also(b_.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, lastTrip_, constant(mostTrips)));
  }
  Value way = b_.createOrFold<arith::MulIOp>(loc, lastTrip_, stride_);
  return InTrips{first.first,
                 b_.createOrFold<arith::AddIOp>(loc, first.first, stride_),
                 b_.createOrFold<arith::AddIOp>(loc, first.first, way),
                 std::max(first.size, behind.size),
                 true,
                 slope};
}

// A value that each trip moves by the same.
std::optional<InTrips> TripValues::computeCarried(BlockArgument argument) {
  Value yielded = loop_.getYieldedValues()[argument.getArgNumber() - 1];
  Operation *op = yielded.getDefiningOp();
  bool isSum = isa_and_nonnull<arith::AddIOp>(op), isDifference = isa_and_nonnull<arith::SubIOp>(op);
  if (!(isSum || isDifference) || !argument.getType().isInteger() || !ofBounds())
    return std::nullopt;
  unsigned own = op->getOperand(0) == argument ? 0 : 1;
  if (op->getOperand(own) != argument || (isDifference && own == 1) ||
      !loop_.isDefinedOutsideOfLoop(op->getOperand(1 - own)))
    return std::nullopt;
  InTrips begin = invariant(loop_.getInitArgs()[argument.getArgNumber() - 1]),
          step = invariant(op->getOperand(1 - own));
  Location loc = loop_.getLoc();
  auto moved = [&](Value way) {
    return isSum ? b_.createOrFold<arith::AddIOp>(loc, begin.first, way)
                 : b_.createOrFold<arith::SubIOp>(loc, begin.first, way);
  };
  InTrips result{begin.first,
                 moved(step.first),
                 moved(b_.createOrFold<arith::MulIOp>(loc, lastTrip_, step.first)),
                 begin.size + double(mostTrips) * step.size,
                 true,
                 std::nullopt};
  APInt constant;
  if (matchPattern(step.first, m_ConstantInt(&constant)))
    result.slope = isSum ? constant.getSExtValue() : -constant.getSExtValue();
  if (unsigned bits = argument.getType().getIntOrFloatBitWidth(); bits < 64) {
    demandRange(result, bits);
    result.size = powerOfTwo(bits - 1);
  }
  return result;
}

std::optional<InTrips> TripValues::compute(Value scalar) {
  auto type = dyn_cast<IntegerType>(scalar.getType());
  if (!type || type.getWidth() < 8 || type.getWidth() > 64)
    return std::nullopt;
  if (loop_.isDefinedOutsideOfLoop(scalar))
    return invariant(scalar);
  if (auto argument = dyn_cast<BlockArgument>(scalar)) {
    if (argument.getOwner() != loop_.getBody())
      return std::nullopt;
    return argument == loop_.getInductionVar() ? ofBounds() : computeCarried(argument);
  }
  Operation *op = scalar.getDefiningOp();
  unsigned bits = type.getWidth();
  if (auto extension = dyn_cast<arith::ExtSIOp>(op))
    return of(extension.getIn());
  if (auto narrowed = dyn_cast<arith::TruncIOp>(op)) {
    std::optional<InTrips> value = of(narrowed.getIn());
    if (!value || !(value->size < powerOfTwo(63)))
      return std::nullopt;
    if (value->size > powerOfTwo(bits - 1)) {
      demandRange(*value, bits);
      value->size = powerOfTwo(bits - 1);
    }
    return value;
  }
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
    return std::nullopt;
  std::optional<InTrips> x = of(op->getOperand(0)), y = x ? of(op->getOperand(1)) : std::nullopt;
  if (!y)
    return std::nullopt;
  if (isa<arith::MulIOp>(op))
    return multiply(*x, *y, bits);
  return isa<arith::AddIOp>(op) ? apply<arith::AddIOp>(*x, *y, x->size + y->size, bits)
                                : apply<arith::SubIOp>(*x, *y, x->size + y->size, bits);
}

} // namespace tegula::transforms
