#include "transforms/SplitMaskedLoops.h"
#include "analysis/Access.h"
#include "analysis/AxisInfo.h"
#include "analysis/PointerOrigins.h"
#include "analysis/Ranges.h"
#include "ir/tile/Tile.h"
#include "transforms/ProductLoops.h"
#include "transforms/TripValues.h"

#include "mlir/IR/IRMapping.h"

#include "llvm/ADT/SetVector.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace tegula::tile;
using tegula::analysis::Form;
using tegula::analysis::Polynomial;

namespace tegula::transforms {

namespace {

// Each loop is compiled twice.
constexpr size_t mostLoops = 4;
constexpr unsigned accessBits = 128;
// A loop of products waits for its first copies: one of so few trips would wait twice.
constexpr int64_t fewTrips = 4;
// Numbers below this are computed without a thought of their end.
const double largest = std::ldexp(1.0, 62);

// The least and the greatest that the indices of a tile add to a form's base; nullopt: no constants.
std::optional<std::pair<int64_t, int64_t>> spanOf(const Form &form, ArrayRef<int64_t> shape) {
  int64_t least = 0, greatest = 0;
  for (auto [stride, extent] : llvm::zip(form.strides, shape)) {
    std::optional<int64_t> each = stride.constant();
    if (!each || std::abs(double(*each)) > std::numeric_limits<int32_t>::max())
      return std::nullopt;
    (*each < 0 ? least : greatest) += *each * (extent - 1);
  }
  return std::pair(least, greatest);
}

// Are the scalars one number? Hints on one of two equal ops keep them apart in the kernel.
bool areEqual(Value x, Value y, unsigned depth = 8) {
  Operation *left = x.getDefiningOp(), *right = y.getDefiningOp();
  if (x == y)
    return true;
  if (depth == 0 || !left || !right || left->getName() != right->getName() ||
      !isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::MinSIOp, arith::MaxSIOp>(left))
    return false;
  return areEqual(left->getOperand(0), right->getOperand(0), depth - 1) &&
         areEqual(left->getOperand(1), right->getOperand(1), depth - 1);
}

// Conditions under which a mask hides what the trip computes, turned around: those under which it does not. A
// condition is made of comparisons by `or` and of what spreads them over a tile.
class Negation {
public:
  explicit Negation(scf::ForOp loop) : loop_(loop) {}

  // Rewrites `where(hidden, constant, x)` as `where(not hidden, x, constant)`. Of two constants the lesser
  // one hides.
  void turn(arith::SelectOp select) {
    std::optional<double> hides = constantOf(select.getTrueValue()),
                          other = constantOf(select.getFalseValue());
    if (!hides || (other && *other <= *hides) || !canNegate(select.getCondition()))
      return;
    Value shown = negated(select.getCondition());
    Value constant = select.getTrueValue(), value = select.getFalseValue();
    select.getConditionMutable().assign(shown);
    select.getTrueValueMutable().assign(value);
    select.getFalseValueMutable().assign(constant);
  }

private:
  static std::optional<double> constantOf(Value tile) {
    SplatElementsAttr splat;
    if (!matchPattern(tile, m_Constant(&splat)) || !isa<FloatType>(splat.getElementType()))
      return std::nullopt;
    return splat.getSplatValue<llvm::APFloat>().convertToDouble();
  }

  bool canNegate(Value condition) {
    Operation *op = condition.getDefiningOp();
    if (!op || op->getBlock() != loop_.getBody() || !isa<RankedTensorType>(condition.getType()))
      return false;
    if (isa<arith::CmpIOp>(op))
      return true;
    return (isa<arith::OrIOp>(op) || analysis::coordinateMap(op)) &&
           llvm::all_of(op->getOperands(), [&](Value operand) { return canNegate(operand); });
  }

  Value negated(Value condition) {
    if (Value known = known_.lookup(condition))
      return known;
    Operation *op = condition.getDefiningOp();
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    Value result;
    if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
      result = arith::CmpIOp::create(builder, op->getLoc(), arith::invertPredicate(compare.getPredicate()),
                                     compare.getLhs(), compare.getRhs());
    } else if (isa<arith::OrIOp>(op)) {
      Value left = negated(op->getOperand(0)), right = negated(op->getOperand(1));
      result = arith::AndIOp::create(builder, op->getLoc(), left, right);
    } else {
      IRMapping map;
      for (Value operand : op->getOperands())
        map.map(operand, negated(operand));
      result = builder.clone(*op, map)->getResult(0);
    }
    known_[condition] = result;
    return result;
  }

  scf::ForOp loop_;
  llvm::DenseMap<Value, Value> known_;
};

class Splitter {
public:
  Splitter(scf::ForOp loop, std::vector<diag::Remark> &remarks) : loop_(loop), remarks_(remarks) {}

  // Splits where the masks choose what a trip of products computes. Returns true if the loop became two.
  bool splitProducts() {
    if (runsFewTrips())
      return false;
    Negation negation(loop_);
    for (auto select : loop_.getBody()->getOps<arith::SelectOp>())
      negation.turn(select);
    if (llvm::none_of(loop_.getBody()->getOps<arith::SelectOp>(),
                      [&](arith::SelectOp select) { return isMasked(select); }))
      return false;
    return run([&] {
      return llvm::any_of(chosen_, [&](arith::CmpIOp compare) { return masked_.contains(compare); });
    });
  }

  // Splits where the masks keep accesses narrow. Returns true if the loop became two.
  bool splitNarrow() {
    bool areMasked = false;
    for (Operation &op : *loop_.getBody())
      if (Value mask = maskOf(&op))
        areMasked |= collect(mask);
    return areMasked && !changesWhatItLoads() && run([&] { return areNarrowed(); });
  }

private:
  // Do its bounds leave the loop few trips, as far as is known or likely of what they are computed from?
  bool runsFewTrips() {
    analysis::Ranges ranges({});
    analysis::Range lower = ranges.at(loop_.getLowerBound()), upper = ranges.at(loop_.getUpperBound()),
                    step = ranges.at(loop_.getStep());
    return step.low > 0 && upper.high - lower.low <= fewTrips * step.low;
  }

  // Splits at the comparisons that hold in all elements of the first trips, if these are worth it.
  bool run(llvm::function_ref<bool()> isWorthIt) {
    for (auto compare : loop_.getBody()->getOps<arith::CmpIOp>())
      if (isa<RankedTensorType>(compare.getType()))
        comparisons_.push_back(compare);
    OpBuilder builder(loop_);
    TripValues trips(builder, loop_);
    if (comparisons_.empty() || !trips.ofBounds())
      return false;
    for (arith::CmpIOp compare : comparisons_)
      consider(builder, trips, compare);
    if (chosen_.empty() || !isWorthIt())
      return false; // what was emitted goes, since nobody reads it
    split(builder, trips);
    return true;
  }

  // The mask of a tile's access, or null.
  static Value maskOf(Operation *op) {
    if (auto load = dyn_cast<LoadOp>(op))
      return load.getMask();
    if (auto store = dyn_cast<StoreOp>(op))
      return store.getMask();
    return {};
  }

  // May the loop store where it loads? Trips that lie apart by its own bounds would meet in a loop of less.
  bool changesWhatItLoads() {
    analysis::PointerOrigins origins;
    auto mayShare = [&](StoreOp store, LoadOp load) {
      return origins.of(store.getPtr()).mayShare(origins.of(load.getPtr()));
    };
    return llvm::any_of(loop_.getOps<StoreOp>(), [&](StoreOp store) {
      return llvm::any_of(loop_.getOps<LoadOp>(), [&](LoadOp load) { return mayShare(store, load); });
    });
  }

  // The widths of the accesses of the loop, in elements.
  std::vector<unsigned> widths() {
    analysis::AxisInfoAnalysis axes(loop_->getParentOfType<FuncOp>());
    std::vector<unsigned> result;
    for (Operation &op : *loop_.getBody())
      if (Value mask = maskOf(&op); mask && isa<RankedTensorType>(mask.getType())) {
        Value pointers = op.getOperand(0);
        result.push_back(axes.accessWidth(pointers, mask, axes.order(pointers)[0], accessBits));
      }
    return result;
  }

  // Would half of the masked accesses be spared, or more, if the chosen comparisons were true?
  bool areNarrowed() {
    std::vector<unsigned> before = widths();
    SmallVector<arith::ConstantOp> supposed;
    for (arith::CmpIOp compare : chosen_) {
      supposed.push_back(always(compare));
      compare.getResult().replaceAllUsesWith(supposed.back());
    }
    std::vector<unsigned> after = widths();
    for (auto [compare, constant] : llvm::zip(chosen_, supposed)) {
      constant.getResult().replaceAllUsesWith(compare.getResult());
      constant.erase();
    }
    double accesses = 0, left = 0; // of as many elements of each tile
    for (auto [narrow, wide] : llvm::zip(before, after)) {
      accesses += 1.0 / narrow;
      left += 1.0 / wide;
    }
    return 2 * left <= accesses;
  }

  // The constant that a comparison is where it holds in all elements.
  static arith::ConstantOp always(arith::CmpIOp compare) {
    OpBuilder builder(compare);
    return arith::ConstantOp::create(builder, compare.getLoc(),
                                     DenseElementsAttr::get(cast<ShapedType>(compare.getType()), true));
  }

  // Does the select choose, element by element, what the trip computes, by comparisons of the trip? Those are
  // collected.
  bool isMasked(arith::SelectOp select) {
    auto type = dyn_cast<RankedTensorType>(select.getType());
    return type && type.getRank() >= 2 && isa<FloatType>(type.getElementType()) &&
           isa<RankedTensorType>(select.getCondition().getType()) && collect(select.getCondition());
  }

  // Collects the comparisons of the trip that a mask is a conjunction of. Returns false if there are none.
  bool collect(Value mask) {
    bool found = false;
    SmallVector<Value> work{mask};
    while (!work.empty()) {
      Operation *op = work.pop_back_val().getDefiningOp();
      if (!op || op->getBlock() != loop_.getBody())
        continue;
      if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
        masked_.insert(compare);
        found = true;
      } else if (isa<arith::AndIOp>(op) || analysis::coordinateMap(op)) {
        llvm::append_range(work, op->getOperands());
      }
    }
    return found;
  }

  // The form's base in the first trip, where the loop's index is what it begins with; nullopt: too large.
  std::optional<Polynomial> inFirstTrip(const Polynomial &base) {
    Polynomial first = access_.form(loop_.getLowerBound()).base;
    std::optional<Polynomial> sum = Polynomial();
    for (const analysis::Monomial &term : base.terms()) {
      std::optional<Polynomial> product = Polynomial(term.coefficient);
      for (const analysis::Factor &factor : term.factors) {
        bool isFirst =
            factor.value == loop_.getInductionVar() || areEqual(factor.value, loop_.getLowerBound());
        product =
            product ? Polynomial::multiply(*product, isFirst ? first : Polynomial(factor)) : std::nullopt;
      }
      sum = sum && product ? Polynomial::add(*sum, *product) : std::nullopt;
    }
    return sum;
  }

  // Keeps a comparison that holds in all elements of the first trips, and computes of how many.
  void consider(OpBuilder &builder, TripValues &trips, arith::CmpIOp compare) {
    auto conjuncts = access_.conjuncts(compare.getResult());
    ArrayRef<int64_t> shape = shapeOf(compare.getType());
    if (conjuncts.size() != 1 || !conjuncts[0].form)
      return;
    const Form &form = *conjuncts[0].form;
    auto span = spanOf(form, shape);
    if (!span || form.base.hasTiles())
      return;
    std::optional<Polynomial> begin = inFirstTrip(form.base);
    if (std::optional<int64_t> known = begin ? begin->constant() : std::nullopt;
        known && *known + span->second >= 0)
      return; // on the diagonal from the first trip on
    std::optional<InTrips> base = trips.of(form.base);
    if (!base || !base->varies || base->slope.value_or(1) <= 0 || !(base->size < largest))
      return;
    // The form is exact where none of these wraps.
    SmallVector<std::tuple<InTrips, std::pair<int64_t, int64_t>, unsigned>> ranges;
    for (Value condition : form.conditions) {
      const Form &own = access_.form(condition);
      unsigned bits = elementType(condition.getType()).getIntOrFloatBitWidth();
      auto within = spanOf(own, shapeOf(condition.getType()));
      std::optional<InTrips> value = within && !own.base.hasTiles() ? trips.of(own.base) : std::nullopt;
      if (!value || !(value->size < largest))
        return;
      if (bits < 64)
        ranges.push_back({*value, *within, bits});
    }
    Location loc = compare.getLoc();
    auto make = [&]<typename Op>(std::in_place_type_t<Op>, Value x, int64_t y) {
      return builder.createOrFold<Op>(loc, x, trips.constant(y));
    };
    for (auto &[value, within, bits] : ranges)
      for (Value end : {value.first, value.last}) {
        int64_t limit = int64_t(1) << (bits - 1);
        Value least = make(std::in_place_type<arith::AddIOp>, end, within.first),
              greatest = make(std::in_place_type<arith::AddIOp>, end, within.second);
        trips.also(builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::sge, least,
                                                       trips.constant(-limit)));
        trips.also(builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, greatest,
                                                       trips.constant(limit)));
      }
    // The number of trips in which base + span < 0.
    Value slope = base->slope ? trips.constant(*base->slope)
                              : builder.createOrFold<arith::SubIOp>(loc, base->second, base->first);
    if (!base->slope) {
      trips.also(
          builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::sgt, slope, trips.constant(0)));
      slope = make(std::in_place_type<arith::MaxSIOp>, slope, 1);
    }
    Value most = make(std::in_place_type<arith::SubIOp>, slope, 1 + span->second);
    Value room = builder.createOrFold<arith::SubIOp>(loc, most, base->first);
    Value positive = make(std::in_place_type<arith::MaxSIOp>, room, 0);
    Value count = builder.createOrFold<arith::DivSIOp>(loc, positive, slope);
    count_ = count_ ? builder.createOrFold<arith::MinSIOp>(loc, count_, count) : count;
    chosen_.push_back(compare);
  }

  void split(OpBuilder &builder, TripValues &trips) {
    Location loc = loop_.getLoc();
    Type type = loop_.getInductionVar().getType();
    Value zero = trips.constant(0), one = trips.constant(1);
    Value all = builder.createOrFold<arith::MaxSIOp>(
        loc, builder.createOrFold<arith::AddIOp>(loc, trips.lastTrip(), one), zero);
    Value count = builder.createOrFold<arith::MinSIOp>(loc, count_, all);
    // The index behind the last trip must not wrap either.
    if (type.getIntOrFloatBitWidth() < 64) {
      Value end = builder.createOrFold<arith::AddIOp>(
          loc, builder.createOrFold<arith::ExtSIOp>(loc, builder.getI64Type(), loop_.getUpperBound()),
          builder.createOrFold<arith::ExtSIOp>(loc, builder.getI64Type(), loop_.getStep()));
      trips.also(builder.createOrFold<arith::CmpIOp>(
          loc, arith::CmpIPredicate::slt, end,
          trips.constant(int64_t(1) << (type.getIntOrFloatBitWidth() - 1))));
    }
    if (trips.condition())
      count = arith::SelectOp::create(builder, loc, trips.condition(), count, zero);
    if (type.getIntOrFloatBitWidth() < 64)
      count = arith::TruncIOp::create(builder, loc, type, count);
    // Written so that what divides the bounds divides it.
    Value way = arith::MulIOp::create(builder, loc, count, loop_.getStep());
    Value middle = arith::AddIOp::create(builder, loc, loop_.getLowerBound(), way);
    IRMapping map;
    auto first = cast<scf::ForOp>(builder.clone(*loop_, map));
    first.setUpperBound(middle);
    for (arith::CmpIOp compare : chosen_) {
      auto known = map.lookup(compare.getResult()).getDefiningOp<arith::CmpIOp>();
      known.getResult().replaceAllUsesWith(always(known));
      known->erase();
    }
    loop_.setLowerBound(middle);
    loop_.getInitArgsMutable().assign(first.getResults());
    remarks_.push_back(
        {locationText(loc), "pipeline", "trips in which no element is masked are a loop of their own"});
  }

  scf::ForOp loop_;
  std::vector<diag::Remark> &remarks_;
  analysis::AccessAnalysis access_;
  SmallVector<arith::CmpIOp> comparisons_, chosen_;
  llvm::SetVector<Operation *> masked_; // comparisons that mask what a trip computes
  Value count_;                         // of trips in which all of the chosen hold
};

} // namespace

void splitMaskedLoops(Operation *function, std::vector<diag::Remark> &remarks) {
  size_t count = 0;
  for (scf::ForOp loop : innermostLoopsOfDots(function))
    if (count != mostLoops)
      count += Splitter(loop, remarks).splitProducts();
}

void splitNarrowLoops(Operation *function, std::vector<diag::Remark> &remarks) {
  SmallVector<scf::ForOp> loops;
  function->walk([&](scf::ForOp loop) {
    if (llvm::none_of(*loop.getBody(), [](Operation &op) { return op.getNumRegions() || isa<DotOp>(op); }))
      loops.push_back(loop);
  });
  size_t count = 0;
  for (scf::ForOp loop : loops)
    if (count != mostLoops)
      count += Splitter(loop, remarks).splitNarrow();
}

} // namespace tegula::transforms
