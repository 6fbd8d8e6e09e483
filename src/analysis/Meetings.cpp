#include "analysis/Meetings.h"
#include "analysis/Forms.h"
#include "analysis/Reach.h"
#include "ir/tile/Tile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::analysis {

namespace {

// Sums of more terms, and what is computed by deeper expressions, are numbers of which nothing is known.
constexpr size_t mostTerms = 16;
constexpr unsigned mostDepth = 32;

bool isInLoop(Value value) {
  Operation *parent = value.getParentBlock()->getParentOp();
  return isa<LoopLikeOpInterface>(parent) || parent->getParentOfType<LoopLikeOpInterface>();
}

bool isOfLoops(const Monomial &term) {
  return llvm::any_of(term.factors, [](const Factor &factor) { return isInLoop(factor.value); });
}

Polynomial polynomialOf(const Monomial &term) {
  Polynomial result(term.coefficient);
  for (const Factor &factor : term.factors)
    result = *Polynomial::multiply(result, Polynomial(factor));
  return result;
}

// A sum in two parts: the terms of which something is true, and the rest. nullopt: its coefficients are
// large.
std::optional<std::pair<Polynomial, Polynomial>> split(const Polynomial &sum,
                                                       llvm::function_ref<bool(const Monomial &)> isFirst) {
  Polynomial first, second;
  for (const Monomial &term : sum.terms()) {
    Polynomial &to = isFirst(term) ? first : second;
    auto more = Polynomial::add(to, polynomialOf(term));
    if (!more)
      return std::nullopt;
    to = *more;
  }
  return {{first, second}};
}

std::optional<Polynomial> minus(const Polynomial &a, const Polynomial &b) {
  auto negative = b.scaled(-1);
  return negative ? Polynomial::add(a, *negative) : std::nullopt;
}

// By what the second sum is more than the first. In trips of their own, loops' numbers are others in each:
// the terms that hold them are multiples of something, and nothing else is known of their difference.
struct Difference {
  Polynomial known;
  SmallVector<Polynomial, 2> others;
};

std::optional<Difference> differenceOf(const Polynomial &a, const Polynomial &b, bool isOneTrip) {
  if (isOneTrip) {
    auto known = minus(b, a);
    return known ? std::optional(Difference{*known, {}}) : std::nullopt;
  }
  auto isFixed = [](const Monomial &term) { return !isOfLoops(term); };
  auto first = split(a, isFixed), second = split(b, isFixed);
  auto known = first && second ? minus(second->first, first->first) : std::nullopt;
  return known ? std::optional(Difference{*known, {first->second, second->second}}) : std::nullopt;
}

// The sum as a multiple of a product; nullopt: it is none.
std::optional<Polynomial> quotientOf(const Polynomial &sum, const Monomial &divisor) {
  Polynomial result;
  for (const Monomial &term : sum.terms()) {
    Monomial rest = term;
    for (const Factor &factor : divisor.factors) {
      auto found = llvm::find(rest.factors, factor);
      if (found == rest.factors.end())
        return std::nullopt;
      rest.factors.erase(found);
    }
    if (term.coefficient % divisor.coefficient != 0)
      return std::nullopt;
    rest.coefficient /= divisor.coefficient;
    auto more = Polynomial::add(result, polynomialOf(rest));
    if (!more)
      return std::nullopt;
    result = *more;
  }
  return result;
}

// Two tiles of one shape whose numbers differ by `difference`, up to multiples of 2^bits, and by the steps.
Meeting meetingOf(const Difference &difference, ArrayRef<std::pair<int64_t, int64_t>> steps, unsigned bits,
                  int64_t elementBytes) {
  int64_t constant = 0;
  unsigned zeros = std::min(bits, 60u); // all that is not known is a multiple of 2^zeros
  auto take = [&](const Polynomial &sum, bool isKnown) {
    for (const Monomial &term : sum.terms())
      if (isKnown && term.factors.empty())
        constant = term.coefficient;
      else
        zeros = std::min(zeros, unsigned(llvm::countr_zero(uint64_t(term.coefficient))));
  };
  take(difference.known, true);
  for (const Polynomial &other : difference.others)
    take(other, false);
  int64_t turn = int64_t(1) << zeros, reach = elementBytes;
  for (auto [stride, count] : steps)
    reach += stride * count;
  constexpr int64_t fewTurns = 8;
  constant = llvm::mod(constant, turn);
  if (reach > INT32_MAX || reach / turn > fewTurns)
    return Meeting::Anywhere;
  bool meetAtZero = false;
  for (int64_t rest = constant - (reach + constant) / turn * turn; rest <= reach; rest += turn)
    if (isReachable(steps, rest, elementBytes)) {
      if (rest != 0)
        return Meeting::Anywhere;
      meetAtZero = true;
    }
  SmallVector<std::pair<uint64_t, uint64_t>> each(steps.begin(), steps.end());
  return !meetAtZero ? Meeting::Never : areOneToOne(each) ? Meeting::Alike : Meeting::Anywhere;
}

// The steps of both tiles; nullopt: they have others, or such that run time knows.
std::optional<SmallVector<std::pair<int64_t, int64_t>>> stepsOf(const Form &a, const Form &b,
                                                                ArrayRef<int64_t> shape) {
  SmallVector<std::pair<int64_t, int64_t>> steps;
  for (auto [strideA, strideB, extent] : llvm::zip_equal(a.strides, b.strides, shape)) {
    if (extent == 1)
      continue;
    std::optional<int64_t> stride = strideA.constant();
    if (!stride || stride != strideB.constant() || std::abs(*stride) > INT32_MAX)
      return std::nullopt;
    steps.push_back({std::abs(*stride), extent - 1});
  }
  llvm::sort(steps, std::greater<>());
  return steps;
}

void removeZeros(SmallVectorImpl<std::pair<int64_t, int64_t>> &steps) {
  llvm::erase_if(steps, [](auto step) { return step.first == 0; });
}

unsigned bitsOf(Value integer) {
  auto type = dyn_cast<IntegerType>(elementType(integer.getType()));
  return type ? type.getWidth() : 64;
}

bool isFewTerms(const Form &form) {
  return form.base.terms().size() <= mostTerms && llvm::all_of(form.strides, [](const Polynomial &stride) {
           return stride.terms().size() <= mostTerms;
         });
}

// The loop that carries a value or counts by it.
scf::ForOp loopOf(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : scf::ForOp();
}

// The step of a value that a loop carries: what each trip adds to it, if that is the same in all of them.
Value stepOfCarried(BlockArgument argument) {
  scf::ForOp loop = loopOf(argument);
  unsigned index = argument.getArgNumber() - loop.getNumInductionVars();
  auto next = loop.getYieldedValues()[index].getDefiningOp<arith::AddIOp>();
  if (!next || (next.getLhs() != argument && next.getRhs() != argument))
    return {};
  Value step = next.getLhs() == argument ? next.getRhs() : next.getLhs();
  return loop.isDefinedOutsideOfLoop(step) || constantOf(step) ? step : Value();
}

} // namespace

// --- numbers ---

// A number of which nothing is known. A loop's own number, as a factor, stands for the trips that lie behind,
// so that it is no number of that kind.
Meetings::Number Meetings::unknown(Value scalar) {
  scf::ForOp loop = loopOf(scalar);
  bool isCounter = loop && scalar == loop.getInductionVar();
  return isCounter ? Number{Polynomial(), 0} : Number{Polynomial(access_.factor(scalar)), 64};
}

Meetings::Number Meetings::numberOf(Value scalar, unsigned depth) {
  if (auto known = numbers_.find(scalar); known != numbers_.end())
    return known->second;
  if (depth == mostDepth)
    return unknown(scalar);
  Number number = computeNumber(scalar, depth + 1);
  return numbers_[scalar] = number.sum.terms().size() <= mostTerms ? number : unknown(scalar);
}

Meetings::Number Meetings::computeNumber(Value scalar, unsigned depth) {
  if (auto constant = constantOf(scalar))
    return {Polynomial(*constant), 64};
  if (loopOf(scalar))
    return carried(cast<BlockArgument>(scalar), depth);
  Operation *op = scalar.getDefiningOp();
  if (isa_and_nonnull<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp>(op)) {
    unsigned bits = std::min(bitsOf(op->getOperand(0)), bitsOf(scalar));
    if (bits < 32)
      return unknown(scalar);
    Number inner = numberOf(op->getOperand(0), depth);
    return isa<arith::ExtSIOp>(op) ? inner : Number{inner.sum, std::min(inner.bits, bits)};
  }
  if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op) || bitsOf(scalar) < 32)
    return unknown(scalar);
  Number left = numberOf(op->getOperand(0), depth), right = numberOf(op->getOperand(1), depth);
  auto sum = isa<arith::MulIOp>(op)   ? Polynomial::multiply(left.sum, right.sum)
             : isa<arith::AddIOp>(op) ? Polynomial::add(left.sum, right.sum)
                                      : minus(left.sum, right.sum);
  return sum ? Number{*sum, std::min({left.bits, right.bits, bitsOf(scalar)})} : unknown(scalar);
}

// A number that a loop carries, or counts by: the first one and a step for each trip.
Meetings::Number Meetings::carried(BlockArgument argument, unsigned depth) {
  scf::ForOp loop = loopOf(argument);
  bool isCounter = argument == loop.getInductionVar();
  Value step = isCounter ? loop.getStep() : stepOfCarried(argument);
  if (!step || !argument.getType().isIntOrIndex() || bitsOf(argument) < 32)
    return unknown(argument);
  Value begin = isCounter ? loop.getLowerBound() : loop.getInitArgs()[argument.getArgNumber() - 1];
  Number first = numberOf(begin, depth), more = numberOf(step, depth);
  auto steps = Polynomial::multiply(more.sum, Polynomial(access_.factor(loop.getInductionVar())));
  auto sum = steps ? Polynomial::add(first.sum, *steps) : std::nullopt;
  return sum ? Number{*sum, std::min({first.bits, more.bits, bitsOf(argument)})} : unknown(argument);
}

std::optional<Meetings::Number> Meetings::expand(const Polynomial &sum) {
  Number result;
  for (const Monomial &term : sum.terms()) {
    Polynomial product(term.coefficient);
    for (const Factor &factor : term.factors) {
      if (factor.isTile())
        return std::nullopt;
      Number number = numberOf(factor.value);
      auto more = Polynomial::multiply(product, number.sum);
      if (!more || more->terms().size() > mostTerms)
        return std::nullopt;
      product = *more;
      result.bits = std::min(result.bits, number.bits);
    }
    auto more = Polynomial::add(result.sum, product);
    if (!more)
      return std::nullopt;
    result.sum = *more;
  }
  return result;
}

std::optional<Meetings::Numbers> Meetings::expand(const Form &form, unsigned depth) {
  auto isTile = [](const Monomial &term) {
    return term.factors.size() == 1 && term.factors.front().isTile();
  };
  auto parts = split(form.base, isTile);
  std::optional<Number> base = parts ? expand(parts->second) : std::nullopt;
  if (!base)
    return std::nullopt;
  Numbers result{{base->sum, {}, {}}, base->bits};
  for (const Polynomial &each : form.strides) {
    std::optional<Number> stride = expand(each);
    if (!stride)
      return std::nullopt;
    result.form.strides.push_back(stride->sum);
    result.bits = std::min(result.bits, stride->bits);
  }
  for (Value condition : form.conditions)
    result.bits = std::min(result.bits, bitsOf(condition));
  for (const Monomial &term : parts->first.terms()) {
    std::optional<Numbers> tile = carriedTile(term.factors.front(), form.strides.size(), depth);
    auto sum = tile ? combine(result.form, tile->form, term.coefficient) : std::nullopt;
    if (!sum)
      return std::nullopt;
    result = {*sum, std::min(result.bits, tile->bits)};
  }
  return result.bits >= 32 && isFewTerms(result.form) ? std::optional(result) : std::nullopt;
}

// A tile of integers that a loop carries, and adds one number to in each trip.
std::optional<Meetings::Numbers> Meetings::carriedTile(const Factor &tile, size_t rank, unsigned depth) {
  scf::ForOp loop = loopOf(tile.value);
  Value step = loop ? stepOfCarried(cast<BlockArgument>(tile.value)) : Value();
  if (!step || depth == mostDepth)
    return std::nullopt;
  unsigned index = cast<BlockArgument>(tile.value).getArgNumber() - loop.getNumInductionVars();
  std::optional<Numbers> first = expand(access_.form(loop.getInitArgs()[index]), depth + 1),
                         more = expand(access_.form(step), depth + 1);
  auto steps = first && more && isUniform(more->form)
                   ? Polynomial::multiply(more->form.base, Polynomial(access_.factor(loop.getInductionVar())))
                   : std::nullopt;
  auto base = steps ? Polynomial::add(first->form.base, *steps) : std::nullopt;
  if (!base)
    return std::nullopt;
  first->form.base = *base;
  return Numbers{remap(first->form, tile.dims, rank),
                 std::min({first->bits, more->bits, bitsOf(tile.value)})};
}

// --- places ---

const std::optional<Meetings::Place> &Meetings::place(Value pointers) {
  std::unique_ptr<std::optional<Place>> &known = places_[pointers];
  if (!known)
    known = std::make_unique<std::optional<Place>>(computePlace(pointers));
  return *known;
}

std::optional<Meetings::Place> Meetings::computePlace(Value pointers) {
  std::optional<Address> address = addressBehind(access_, pointers, [](Value) { return true; });
  std::optional<Numbers> offset = address ? expand(address->offset) : std::nullopt;
  if (!offset)
    return std::nullopt;
  return Place{address->pointer, *offset, boundsOf(pointers)};
}

SmallVector<Meetings::Bound, 2> Meetings::boundsOf(Value pointers) {
  std::optional<SmallVector<Bound, 2>> all; // that all masks have
  for (Value mask : masksOf(pointers).value_or(SmallVector<Value>())) {
    SmallVector<Bound, 2> bounds;
    for (const Conjunct &conjunct : access_.conjuncts(mask))
      if (std::optional<Bound> bound = conjunct.form ? boundOf(*conjunct.form) : std::nullopt)
        if (!all || llvm::any_of(*all, [&](const Bound &other) {
              return other.index.form == bound->index.form && other.length == bound->length;
            }))
          bounds.push_back(*bound);
    all = bounds;
  }
  return all.value_or(SmallVector<Bound, 2>());
}

// `form < 0` says that an index is below a length, if all of its terms that are subtracted are the length.
std::optional<Meetings::Bound> Meetings::boundOf(const Form &belowZero) {
  std::optional<Numbers> numbers = expand(belowZero);
  if (!numbers)
    return std::nullopt;
  auto parts = split(numbers->form.base, [](const Monomial &term) { return term.coefficient > 0; });
  auto length = parts ? parts->second.scaled(-1) : std::nullopt;
  if (!length || length->terms().size() != 1)
    return std::nullopt;
  Bound bound{{{parts->first, numbers->form.strides, {}}, numbers->bits}, *length};
  return isNotNegative(bound.index.form) ? std::optional(bound) : std::nullopt;
}

// Is it a sum of products of indices and numbers, none of which is negative?
bool Meetings::isNotNegative(const Form &form) {
  auto isIndex = [&](const Factor &factor) {
    scf::ForOp loop = loopOf(factor.value); // of trips
    return (loop && factor.value == loop.getInductionVar()) || indices_.contains(factor.value);
  };
  return llvm::all_of(form.base.terms(),
                      [&](const Monomial &term) {
                        return term.coefficient > 0 && llvm::all_of(term.factors, isIndex);
                      }) &&
         llvm::all_of(form.strides,
                      [](const Polynomial &stride) { return stride.constant().value_or(-1) >= 0; });
}

// --- meetings ---

Meeting Meetings::between(Value a, Value b, bool isOneTrip) {
  auto [known, isNew] = (isOneTrip ? inTrip_ : inAnyTrips_).try_emplace({a, b}, Meeting::Anywhere);
  if (isNew)
    known->second = compute(a, b, isOneTrip);
  return known->second;
}

Meeting Meetings::compute(Value a, Value b, bool isOneTrip) {
  if (a.getType() != b.getType())
    return Meeting::Anywhere;
  const std::optional<Place> &first = place(a), &second = place(b);
  if (!first || !second || first->pointer != second->pointer || (!isOneTrip && isInLoop(first->pointer)))
    return Meeting::Anywhere;
  auto shape = shapeOf(a.getType());
  int64_t elementBytes = bytesOf(cast<PointerType>(elementType(a.getType())));
  Meeting meeting = betweenNumbers(first->offset, second->offset, shape, elementBytes, isOneTrip);
  return meeting != Meeting::Anywhere ? meeting
                                      : betweenRows(*first, *second, shape, elementBytes, isOneTrip);
}

Meeting Meetings::betweenNumbers(const Numbers &a, const Numbers &b, ArrayRef<int64_t> shape,
                                 int64_t elementBytes, bool isOneTrip) {
  auto steps = stepsOf(a.form, b.form, shape);
  auto difference = steps ? differenceOf(a.form.base, b.form.base, isOneTrip) : std::nullopt;
  return difference ? meetingOf(*difference, *steps, std::min(a.bits, b.bits), elementBytes)
                    : Meeting::Anywhere;
}

// Coordinates that do not move an index move the row.
Meeting Meetings::betweenIndices(const Numbers &a, const Numbers &b, ArrayRef<int64_t> shape,
                                 bool isOneTrip) {
  auto steps = stepsOf(a.form, b.form, shape);
  auto difference = steps ? differenceOf(a.form.base, b.form.base, isOneTrip) : std::nullopt;
  if (!difference)
    return Meeting::Anywhere;
  removeZeros(*steps);
  return meetingOf(*difference, *steps, std::min(a.bits, b.bits), 1);
}

// Addresses `rest + index` with `0 <= index < length`, where what the rests differ by are multiples of the
// length: elements of other rows are apart, and those of one row are where their indices differ.
Meeting Meetings::betweenRows(const Place &a, const Place &b, ArrayRef<int64_t> shape, int64_t elementBytes,
                              bool isOneTrip) {
  Meeting best = Meeting::Anywhere;
  for (const Bound &boundA : a.bounds)
    for (const Bound &boundB : b.bounds) {
      if (!(boundA.length == boundB.length) || (!isOneTrip && isOfLoops(boundA.length.terms().front())))
        continue;
      auto length = boundA.length.scaled(elementBytes);
      auto restA = combine(a.offset.form, boundA.index.form, -elementBytes),
           restB = combine(b.offset.form, boundB.index.form, -elementBytes);
      auto difference =
          length && restA && restB ? differenceOf(restA->base, restB->base, isOneTrip) : std::nullopt;
      if (!difference)
        continue;
      // All that the rests differ by in units of the length.
      const Monomial &unit = length->terms().front();
      bool areRows = true;
      auto divide = [&](Polynomial &sum) {
        auto quotient = quotientOf(sum, unit);
        areRows &= quotient.has_value();
        sum = quotient.value_or(Polynomial());
      };
      divide(difference->known);
      llvm::for_each(difference->others, divide);
      llvm::for_each(restA->strides, divide);
      llvm::for_each(restB->strides, divide);
      auto steps = areRows ? stepsOf(*restA, *restB, shape) : std::nullopt;
      if (!steps)
        continue;
      bool isEachCounted = true; // does each coordinate move the row or the index?
      for (auto [d, extent] : llvm::enumerate(shape))
        isEachCounted &= extent == 1 || !restA->strides[d].isZero() || !boundA.index.form.strides[d].isZero();
      removeZeros(*steps);
      Meeting rows = meetingOf(*difference, *steps, std::min(a.offset.bits, b.offset.bits), 1);
      Meeting indices = betweenIndices(boundA.index, boundB.index, shape, isOneTrip);
      if (rows == Meeting::Never || indices == Meeting::Never)
        return Meeting::Never;
      if (rows == Meeting::Alike && indices == Meeting::Alike && isEachCounted)
        best = Meeting::Alike;
    }
  return best;
}

} // namespace tegula::analysis
