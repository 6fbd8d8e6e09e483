#include "transforms/NestFlatLoops.h"
#include "ir/tile/Checks.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {

namespace {

bool isConstant(Value value, int64_t wanted) {
  APInt constant;
  return matchPattern(value, m_ConstantInt(&constant)) && constant.getSExtValue() == wanted;
}

bool isSame(Value a, Value b) {
  APInt one, other;
  return a == b || (matchPattern(a, m_ConstantInt(&one)) && matchPattern(b, m_ConstantInt(&other)) &&
                    one.getBitWidth() == other.getBitWidth() && one == other);
}

// Is `value` = base + step?
bool isSum(Value value, Value base, int64_t step) {
  APInt one, other;
  if (matchPattern(value, m_ConstantInt(&one)) && matchPattern(base, m_ConstantInt(&other)))
    return one.getSExtValue() == other.getSExtValue() + step;
  if (auto sum = value.getDefiningOp<arith::AddIOp>())
    return isSame(sum.getLhs(), base) && isConstant(sum.getRhs(), step);
  auto difference = value.getDefiningOp<arith::SubIOp>();
  return difference && isSame(difference.getLhs(), base) && isConstant(difference.getRhs(), -step);
}

// An op of the trip that asks whether it is the first or the last one of its tile: an `if`, or a choice.
struct Asked {
  Operation *op;
  bool isNegated; // it asks whether the trip is not that one

  Block *branch(bool isThen) const {
    auto branches = dyn_cast<scf::IfOp>(op);
    if (!branches)
      return nullptr;
    Region &region = isThen != isNegated ? branches.getThenRegion() : branches.getElseRegion();
    return region.empty() ? nullptr : &region.front();
  }
  Block *taken() const { return branch(true); }
  // Results in the trip that is asked for, and in all others.
  Value value(bool isTaken, unsigned index) const {
    if (auto choice = dyn_cast<arith::SelectOp>(op))
      return isTaken != isNegated ? choice.getTrueValue() : choice.getFalseValue();
    return branch(isTaken)->getTerminator()->getOperand(index);
  }
};

class FlatLoop {
public:
  explicit FlatLoop(scf::ForOp loop) : loop_(loop), body_(*loop.getBody()) {}

  // Is it such a loop, of which all parts can move?
  bool find() {
    if (!isConstant(loop_.getLowerBound(), 0) || !isConstant(loop_.getStep(), 1) || loop_.getUnsignedCmp())
      return false;
    bool hasDots = false, hasLoops = false;
    loop_.getBody()->walk([&](Operation *op) {
      hasDots |= isa<DotOp>(op);
      hasLoops |= isa<LoopLikeOpInterface>(op);
    });
    auto all = loop_.getUpperBound().getDefiningOp<arith::MulIOp>();
    if (!all || !hasDots || hasLoops)
      return false;
    for (unsigned ofTrips : {0u, 1u}) {
      trips_ = all->getOperand(ofTrips);
      tiles_ = all->getOperand(1 - ofTrips);
      if (findPhase() && findAsked())
        return true;
    }
    return false;
  }

  void nest() {
    OpBuilder builder(loop_);
    Location loc = loop_.getLoc();
    Value zero = constant(builder, 0), one = constant(builder, 1);
    Value positive = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sgt, trips_, zero);
    checkTrips(builder, positive);
    Value count = arith::SelectOp::create(builder, loc, positive, tiles_, zero);
    auto outer = scf::ForOp::create(builder, loc, zero, count, one, kept(loop_.getInitArgs()));
    builder.setInsertionPointToStart(outer.getBody());

    // Ahead of the inner loop: its first trip's part.
    IRMapping early;
    Value tile = outer.getInductionVar();
    mapArguments(early, outer.getRegionIterArgs());
    early.map(phase_, zero);
    Value before = arith::MulIOp::create(builder, loc, tile, trips_);
    mapIndex(early, before, tile);
    SmallVector<Value> begins;
    for (BlockArgument argument : loop_.getRegionIterArgs())
      begins.push_back(early.lookupOrNull(argument));
    for (const Asked &asked : first_) {
      take(builder, asked, early);
      for (OpResult result : asked.op->getResults())
        begins[argumentOf(asked, result).getArgNumber() - 1] = early.lookup(result);
    }

    auto inner = scf::ForOp::create(builder, loc, zero, trips_, one, kept(begins));
    inner->setDiscardableAttrs(loop_->getDiscardableAttrDictionary());
    fill(inner, tile, before);

    // Behind it: its last trip's part.
    builder.setInsertionPointAfter(inner);
    IRMapping late;
    Value last = arith::SubIOp::create(builder, loc, trips_, one);
    late.map(phase_, last);
    mapIndex(late, arith::AddIOp::create(builder, loc, before, last), tile);
    for (auto [index, result] : llvm::enumerate(inner.getResults()))
      late.map(nextInTile(argumentNumber(unsigned(index))), result);
    for (const Asked &asked : last_)
      take(builder, asked, late);
    SmallVector<Value> ends;
    for (auto [index, result] : llvm::enumerate(inner.getResults())) {
      Value next = loop_.getYieldedValues()[argumentNumber(unsigned(index))];
      ends.push_back(findIn(last_, next) ? late.lookupOrDefault(next) : Value(result));
    }
    scf::YieldOp::create(builder, loc, ends);

    for (auto [index, result] : llvm::enumerate(outer.getResults()))
      loop_.getResult(argumentNumber(unsigned(index))).replaceAllUsesWith(result);
    loop_.erase();
  }

private:
  Value constant(OpBuilder &builder, int64_t value) {
    return arith::ConstantOp::create(builder, loop_.getLoc(),
                                     builder.getIntegerAttr(trips_.getType(), value));
  }

  // ---- what is carried: all but the number of the trip ----

  unsigned argumentNumber(unsigned index) const { return counter_ && index >= *counter_ ? index + 1 : index; }

  template <typename Range> SmallVector<Value> kept(Range &&all) const {
    SmallVector<Value> values;
    for (auto [index, value] : llvm::enumerate(all))
      if (index != counter_)
        values.push_back(value);
    return values;
  }

  void mapArguments(IRMapping &mapping, ValueRange to) {
    for (auto [from, value] : llvm::zip(kept(loop_.getRegionIterArgs()), to))
      mapping.map(from, value);
  }

  // The trip's number among all trips, and quotients by which a trip finds its tile.
  void mapIndex(IRMapping &mapping, Value index, Value tile) {
    mapping.map(loop_.getInductionVar(), index);
    for (Operation *user : loop_.getInductionVar().getUsers())
      if (isa<arith::DivSIOp, arith::DivUIOp>(user) && user->getOperand(0) == loop_.getInductionVar() &&
          isSame(user->getOperand(1), trips_))
        mapping.map(user->getResult(0), tile);
  }

  // ---- the number of a trip in its tile ----

  // Is `next` = number == trips - 1 ? 0 : number + 1?
  bool wraps(Value next, Value number) const {
    std::optional<Asked> asked = asksForLast(next.getDefiningOp(), number);
    if (!asked)
      return false;
    unsigned index = cast<OpResult>(next).getResultNumber();
    return isConstant(asked->value(true, index), 0) && isSum(asked->value(false, index), number, 1);
  }

  bool findPhase() {
    for (BlockArgument argument : loop_.getRegionIterArgs()) {
      counting_.clear();
      unsigned number = argument.getArgNumber() - 1;
      Value next = loop_.getYieldedValues()[number];
      if (argument.getType() != trips_.getType() || !loop_.getResult(number).use_empty() ||
          !wraps(next, argument))
        continue;
      counter_ = number;
      if (isConstant(loop_.getInitArgs()[number], 0)) {
        phase_ = argument;
        return true;
      }
      // It counts at the start of a trip: nothing else reads the number of the trip before.
      phase_ = next;
      if (isConstant(loop_.getInitArgs()[number], -1) && countsAlone(argument))
        return true;
    }
    counting_.clear();
    counter_.reset();
    for (Operation *user : loop_.getInductionVar().getUsers())
      if (isa<arith::RemSIOp, arith::RemUIOp>(user) && user->getOperand(0) == loop_.getInductionVar() &&
          isSame(user->getOperand(1), trips_) && user->getBlock() == &body_) {
        phase_ = user->getResult(0);
        return true;
      }
    return false;
  }

  bool countsAlone(BlockArgument before) {
    Operation *count = phase_.getDefiningOp();
    auto isOfIt = [&](Operation *user) { return body_.findAncestorOpInBlock(*user) == count; };
    counting_.insert(count);
    if (count->getNumResults() != 1 || !isMemoryEffectFree(count))
      return false;
    for (Operation *user : before.getUsers()) {
      if (isOfIt(user))
        continue;
      if (!isa<arith::CmpIOp, arith::AddIOp, arith::SubIOp>(user) || !llvm::all_of(user->getUsers(), isOfIt))
        return false;
      counting_.insert(user);
    }
    return true;
  }

  // ---- conditions ----

  // Does the comparison ask whether `number` is that of a tile's last trip (true), or whether it is not?
  std::optional<bool> asksForLast(arith::CmpIOp compare, Value number) const {
    auto isLast = [&](Value value, Value end) {
      return (value == number && isSum(end, trips_, -1)) || (isSum(value, number, 1) && isSame(end, trips_));
    };
    using Predicate = arith::CmpIPredicate;
    Predicate predicate = compare.getPredicate();
    bool isEquality = predicate == Predicate::eq || predicate == Predicate::ne;
    if (!isLast(compare.getLhs(), compare.getRhs()) &&
        !(isEquality && isLast(compare.getRhs(), compare.getLhs())))
      return std::nullopt;
    if (predicate == Predicate::eq || predicate == Predicate::sge)
      return true;
    if (predicate == Predicate::ne || predicate == Predicate::slt)
      return false;
    return std::nullopt;
  }

  std::optional<bool> asksForFirst(arith::CmpIOp compare) const {
    using Predicate = arith::CmpIPredicate;
    if (compare.getLhs() != phase_ || !isConstant(compare.getRhs(), 0))
      return std::nullopt;
    if (compare.getPredicate() == Predicate::eq || compare.getPredicate() == Predicate::sle)
      return true;
    if (compare.getPredicate() == Predicate::ne || compare.getPredicate() == Predicate::sgt)
      return false;
    return std::nullopt;
  }

  static arith::CmpIOp comparisonOf(Operation *op) {
    if (auto branches = dyn_cast_or_null<scf::IfOp>(op))
      return branches.getCondition().getDefiningOp<arith::CmpIOp>();
    auto choice = dyn_cast_or_null<arith::SelectOp>(op);
    return choice ? choice.getCondition().getDefiningOp<arith::CmpIOp>() : arith::CmpIOp();
  }

  std::optional<Asked> asksForFirst(Operation *op) const {
    arith::CmpIOp compare = comparisonOf(op);
    std::optional<bool> isFirst = compare ? asksForFirst(compare) : std::nullopt;
    return isFirst ? std::optional(Asked{op, !*isFirst}) : std::nullopt;
  }

  std::optional<Asked> asksForLast(Operation *op, Value number) const {
    arith::CmpIOp compare = comparisonOf(op);
    std::optional<bool> isLast = compare ? asksForLast(compare, number) : std::nullopt;
    return isLast ? std::optional(Asked{op, !*isLast}) : std::nullopt;
  }

  // Finds what a trip does as a tile's first or last one. All that the trip writes has to be among it.
  bool findAsked() {
    first_.clear();
    last_.clear();
    for (Operation &op : body_.without_terminator()) {
      if (counting_.contains(&op))
        continue;
      if (auto asked = asksForFirst(&op); asked && considerFirst(*asked))
        continue;
      if (auto asked = asksForLast(&op, phase_); asked && considerLast(*asked))
        continue;
      if (writes(&op))
        return false;
    }
    return !last_.empty() && llvm::all_of(last_, [&](const Asked &asked) {
      return isFollowedByNothing(asked) && isKnownBehind(asked);
    });
  }

  // Ops behind it that it could meet are of the same kind.
  bool isFollowedByNothing(const Asked &asked) const {
    for (Operation *op = asked.op->getNextNode(); op != body_.getTerminator(); op = op->getNextNode())
      if (!isMemoryEffectFree(op) && llvm::none_of(last_, [&](const Asked &other) { return other.op == op; }))
        return false;
    return true;
  }

  static bool writes(Operation *op) {
    return op
        ->walk([](Operation *inner) {
          bool isHarmless = inner->hasTrait<OpTrait::HasRecursiveMemoryEffects>() ||
                            isMemoryEffectFree(inner) || isPlainLoad(inner);
          return isHarmless ? WalkResult::advance() : WalkResult::interrupt();
        })
        .wasInterrupted();
  }

  static bool isPlainLoad(Operation *op) {
    auto load = dyn_cast<LoadOp>(op);
    return load && !load.getIsVolatile();
  }

  static const Asked *findIn(ArrayRef<Asked> all, Value value) {
    const Asked *found =
        llvm::find_if(all, [&](const Asked &asked) { return asked.op == value.getDefiningOp(); });
    return found == all.end() ? nullptr : found;
  }

  // Nothing happens in other trips.
  static bool doesNothingElse(const Asked &asked) {
    Block *other = asked.branch(false);
    return !other || other->without_terminator().empty();
  }

  // Returns the carried value that other trips have in place of a result.
  BlockArgument argumentOf(const Asked &asked, OpResult result) const {
    auto argument = dyn_cast<BlockArgument>(asked.value(false, result.getResultNumber()));
    bool isOwn = argument && argument.getOwner() == &body_ && argument.getArgNumber() != 0 &&
                 argument.getArgNumber() - 1 != counter_;
    return isOwn ? argument : BlockArgument();
  }

  // Ahead of it the trip does nothing that it could meet, and what other trips have for its results is
  // carried, and read by it alone: then the inner loop begins with the results.
  bool considerFirst(const Asked &asked) {
    if (!doesNothingElse(asked))
      return false;
    bool isWriter = writes(asked.op);
    for (Operation &op : llvm::make_range(body_.begin(), asked.op->getIterator()))
      if (!llvm::any_of(first_, [&](const Asked &earlier) { return earlier.op == &op; }) &&
          (writes(&op) || (isWriter && !isMemoryEffectFree(&op))))
        return false;
    llvm::SmallSet<unsigned, 8> carried;
    for (OpResult result : asked.op->getResults()) {
      BlockArgument argument = argumentOf(asked, result);
      auto isOfIt = [&](Operation *user) { return asked.op->isAncestor(user); };
      if (!argument || !carried.insert(argument.getArgNumber()).second ||
          !llvm::all_of(argument.getUsers(), isOfIt))
        return false;
    }
    if (!llvm::all_of(capturedBy(asked), [&](Value value) { return isKnownAhead(value); }))
      return false;
    first_.push_back(asked);
    return true;
  }

  // Nobody but the next trip reads its results.
  bool considerLast(const Asked &asked) {
    bool isHandedOn =
        llvm::all_of(asked.op->getUsers(), [&](Operation *user) { return user == body_.getTerminator(); });
    if (!doesNothingElse(asked) || !isHandedOn)
      return false;
    last_.push_back(asked);
    return true;
  }

  // Lists the values of the loop's body that the part of a trip reads.
  SmallVector<Value> capturedBy(const Asked &asked) {
    SmallVector<Value> values;
    auto add = [&](Value value) {
      if (!loop_.isDefinedOutsideOfLoop(value))
        values.push_back(value);
    };
    if (Block *taken = asked.taken()) {
      llvm::SetVector<Value> captured;
      getUsedValuesDefinedAbove(*taken->getParent(), captured);
      llvm::for_each(captured, add);
    } else if (isa<arith::SelectOp>(asked.op)) {
      add(asked.value(true, 0));
    }
    return values;
  }

  // An op of the body that computes the same in another place.
  bool isMovable(Operation *op) const {
    auto isIt = [&](const Asked &asked) { return asked.op == op; };
    return op && op->getBlock() == &body_ && op->getNumRegions() == 0 && isMemoryEffectFree(op) &&
           !isa<DotOp>(op) && !counting_.contains(op) && llvm::none_of(first_, isIt) &&
           llvm::none_of(last_, isIt);
  }

  // Is the value known in another place, or computed there of what is?
  template <typename Known> bool isComputedOf(Value value, Known isKnown) {
    SmallVector<Value> work{value};
    llvm::DenseSet<Value> seen;
    while (!work.empty()) {
      Value next = work.pop_back_val();
      if (!seen.insert(next).second || loop_.isDefinedOutsideOfLoop(next) || next == phase_ ||
          next == loop_.getInductionVar() || isKnown(next))
        continue;
      if (!isMovable(next.getDefiningOp()))
        return false;
      llvm::append_range(work, next.getDefiningOp()->getOperands());
    }
    return true;
  }

  bool isKnownAhead(Value value) {
    return isComputedOf(value, [&](Value each) {
      auto argument = dyn_cast<BlockArgument>(each);
      return argument ? argument.getArgNumber() - 1 != counter_ : findIn(first_, each) != nullptr;
    });
  }

  // Returns the value that a trip which is not the last one hands on.
  Value nextInTile(unsigned number) {
    Value next = loop_.getYieldedValues()[number];
    const Asked *asked = findIn(last_, next);
    return asked ? asked->value(false, cast<OpResult>(next).getResultNumber()) : next;
  }

  bool isHandedOn(Value value) {
    for (unsigned number = 0; number != loop_.getNumRegionIterArgs(); ++number)
      if (number != counter_ && nextInTile(number) == value)
        return true;
    return false;
  }

  bool isKnownBehind(const Asked &asked) {
    return llvm::all_of(capturedBy(asked), [&](Value value) { return isKnownBehind(value); });
  }
  bool isKnownBehind(Value value) {
    return isComputedOf(value, [&](Value each) { return isHandedOn(each); });
  }

  // ---- the new loops ----

  // A trip count that leaves its bits would be another one.
  void checkTrips(OpBuilder &builder, Value positive) {
    Location loc = loop_.getLoc();
    if (!trips_.getType().isInteger(32))
      return;
    auto wide = [&](Value value) -> Value {
      return arith::ExtSIOp::create(builder, loc, builder.getI64Type(), value);
    };
    Value all = loop_.getUpperBound(), zero = constant(builder, 0);
    Value none = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sle, all, zero);
    Value product = arith::MulIOp::create(builder, loc, wide(trips_), wide(tiles_));
    Value isWhole = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, product, wide(all));
    Value holds =
        arith::OrIOp::create(builder, loc, none, arith::AndIOp::create(builder, loc, positive, isWhole));
    auto check = AssertOp::create(
        builder, loc, holds,
        builder.getStringAttr(
            "the trips of all tiles together do not fit into 32 bits; make two loops of this one: "
            "over tiles, and over the trips of a tile"));
    check->setAttr(ownCheckName, builder.getUnitAttr());
  }

  // Computes what a part reads, where the builder stands, and does the part there.
  void take(OpBuilder &builder, const Asked &asked, IRMapping &mapping) {
    compute(builder, capturedBy(asked), mapping);
    if (Block *taken = asked.taken())
      for (Operation &op : taken->without_terminator())
        builder.clone(op, mapping);
    for (OpResult result : asked.op->getResults())
      mapping.map(result, mapping.lookupOrDefault(asked.value(true, result.getResultNumber())));
  }

  void compute(OpBuilder &builder, SmallVector<Value> work, IRMapping &mapping) {
    llvm::DenseSet<Operation *> needed;
    while (!work.empty()) {
      Value value = work.pop_back_val();
      if (!loop_.isDefinedOutsideOfLoop(value) && !mapping.contains(value) &&
          needed.insert(value.getDefiningOp()).second)
        llvm::append_range(work, value.getDefiningOp()->getOperands());
    }
    for (Operation &op : body_)
      if (needed.contains(&op))
        builder.clone(op, mapping);
  }

  void fill(scf::ForOp inner, Value tile, Value before) {
    OpBuilder builder(inner.getContext());
    builder.setInsertionPointToStart(inner.getBody());
    IRMapping mapping;
    mapArguments(mapping, inner.getRegionIterArgs());
    mapping.map(phase_, inner.getInductionVar());
    Value index = arith::AddIOp::create(builder, inner.getLoc(), before, inner.getInductionVar());
    mapIndex(mapping, index, tile);
    for (Operation &op : body_.without_terminator()) {
      bool isKnown = op.getNumResults() == 1 && mapping.contains(op.getResult(0));
      if (isKnown || counting_.contains(&op))
        continue;
      auto isIt = [&](const Asked &asked) { return asked.op == &op; };
      bool isFirst = llvm::any_of(first_, isIt);
      if (!isFirst && llvm::none_of(last_, isIt)) {
        builder.clone(op, mapping);
        continue;
      }
      for (OpResult result : op.getResults())
        mapping.map(result,
                    mapping.lookupOrDefault(
                        findIn(isFirst ? first_ : last_, result)->value(false, result.getResultNumber())));
    }
    SmallVector<Value> yields;
    for (unsigned number = 0; number != loop_.getNumRegionIterArgs(); ++number)
      if (number != counter_)
        yields.push_back(mapping.lookupOrDefault(loop_.getYieldedValues()[number]));
    scf::YieldOp::create(builder, inner.getLoc(), yields);
  }

  scf::ForOp loop_;
  Block &body_;
  Value trips_, tiles_;             // whose product is the loop's number of trips
  Value phase_;                     // in the loop's body: the number of the trip in its tile
  std::optional<unsigned> counter_; // the carried value that counts it
  llvm::DenseSet<Operation *> counting_;
  SmallVector<Asked> first_, last_;
};

} // namespace

void nestFlatLoops(Operation *function, std::vector<diag::Remark> &remarks) {
  SmallVector<scf::ForOp> loops;
  function->walk([&](scf::ForOp loop) { loops.push_back(loop); });
  bool isChanged = false;
  for (scf::ForOp loop : loops) {
    FlatLoop flat(loop);
    if (!flat.find())
      continue;
    remarks.push_back(
        {locationText(loop.getLoc()), "nest",
         "one loop over the trips of all tiles: a loop over tiles around one over their trips"});
    flat.nest();
    isChanged = true;
  }
  if (!isChanged)
    return;
  // Values that both loops carry, and nobody changes, go.
  RewritePatternSet patterns(function->getContext());
  scf::ForOp::getCanonicalizationPatterns(patterns, function->getContext());
  (void)applyPatternsGreedily(function, std::move(patterns));
}

} // namespace tegula::transforms
