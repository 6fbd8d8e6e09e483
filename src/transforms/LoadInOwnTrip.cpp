#include "transforms/LoadInOwnTrip.h"
#include "ir/tile/Tile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {

namespace {

// The values of one thing ahead of the loop and at the end of each trip.
using Pair = std::pair<Value, Value>;

bool isPlainLoad(Operation *op) {
  auto load = dyn_cast<LoadOp>(op);
  return load && !load.getIsVolatile();
}

bool readsAtMost(Operation *op) { return isPlainLoad(op) || isMemoryEffectFree(op); }

// Does a product of the loop read the tile, perhaps cast or transposed?
bool feedsDot(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    bool isOnWay = isa<TransOp, FpToFpOp, arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp>(user);
    return isa<DotOp>(user) || (isOnWay && feedsDot(user->getResult(0)));
  });
}

// Are they one op, but for their operands?
bool areAlike(Operation *first, Operation *second) {
  return first && second && first->getName() == second->getName() && first->getNumResults() == 1 &&
         first->getNumRegions() == 0 && second->getNumRegions() == 0 &&
         first->getNumOperands() == second->getNumOperands() &&
         first->getResultTypes() == second->getResultTypes() &&
         first->getAttrDictionary() == second->getAttrDictionary() && readsAtMost(first);
}

class CarriedLoad {
public:
  CarriedLoad(scf::ForOp loop, unsigned index) : loop_(loop), index_(index) {}

  // Returns the loop without the carried tile; null: it stays.
  scf::ForOp run() {
    Value ahead = loop_.getInitArgs()[index_], next = loop_.getYieldedValues()[index_];
    if (!isCandidate(ahead, next) || !match(ahead, next) ||
        llvm::none_of(alike_, [](const Pair &pair) { return isPlainLoad(pair.second.getDefiningOp()); }))
      return {};
    IRRewriter rewriter(loop_.getContext());
    SmallVector<Value> inits;
    for (const Pair &pair : carried_)
      inits.push_back(pair.first);
    rewriter.setInsertionPoint(loop_);
    auto made = cast<scf::ForOp>(
        loop_
            .replaceWithAdditionalYields(rewriter, inits, /*replaceInitOperandUsesInLoop=*/false,
                                         [&](OpBuilder &, Location, ArrayRef<BlockArgument>) {
                                           SmallVector<Value> yields;
                                           for (const Pair &pair : carried_)
                                             yields.push_back(pair.second);
                                           return yields;
                                         })
            ->getOperation());
    loop_ = made;
    for (auto [pair, argument] : llvm::zip(carried_, made.getRegionIterArgs().take_back(carried_.size())))
      known_[pair] = argument;
    for (auto [pair, index] : carriedAlready_)
      known_[pair] = made.getRegionIterArg(index);
    rewriter.setInsertionPointToStart(made.getBody());
    Value tile = made.getRegionIterArg(index_);
    rewriter.replaceAllUsesWith(tile, build(rewriter, {ahead, next}));
    // Nobody reads it: the next canonicalization takes it away.
    made.getBody()->getTerminator()->setOperand(index_, tile);
    return made;
  }

private:
  bool isCandidate(Value ahead, Value next) {
    auto type = dyn_cast<RankedTensorType>(ahead.getType());
    Operation *first = ahead.getDefiningOp(), *second = next.getDefiningOp();
    if (!type || type.getRank() < 2 || !first || !second || !loop_.getResult(index_).use_empty() ||
        second->getBlock() != loop_.getBody() || !next.hasOneUse() ||
        first->getBlock() != loop_->getBlock() || !feedsDot(loop_.getRegionIterArg(index_)))
      return false;
    bool isQuiet = true;
    for (Operation *op = first; op != loop_.getOperation(); op = op->getNextNode())
      isQuiet &= readsAtMost(op);
    loop_.getBody()->walk([&](Operation *op) {
      isQuiet &= readsAtMost(op) || isa<DotOp, ReduceOp>(op) || op->hasTrait<OpTrait::IsTerminator>() ||
                 op->getNumRegions();
    });
    return isQuiet;
  }

  // Finds how the second value follows from what is the same in both, from what the loop carries already, and
  // from values that it can carry.
  bool match(Value first, Value second) {
    Pair pair{first, second};
    if (known_.contains(pair) || carriedAlready_.contains(pair) || llvm::is_contained(alike_, pair))
      return true;
    if (first == second && loop_.isDefinedOutsideOfLoop(second))
      return known_[pair] = first, true;
    for (auto [index, init, yielded] : llvm::enumerate(loop_.getInitArgs(), loop_.getYieldedValues()))
      if (init == first && yielded == second && index != index_)
        return carriedAlready_[pair] = unsigned(index), true;
    Operation *ahead = first.getDefiningOp(), *next = second.getDefiningOp();
    size_t mark = carried_.size(), markOfAlike = alike_.size();
    auto isMade = [&](bool matches) {
      if (matches)
        alike_.push_back(pair);
      else
        carried_.resize(mark), alike_.resize(markOfAlike);
      return matches;
    };
    if (areAlike(ahead, next) &&
        isMade(llvm::all_of(llvm::zip(ahead->getOperands(), next->getOperands()), [&](auto operands) {
          return match(std::get<0>(operands), std::get<1>(operands));
        })))
      return true;
    if (isMade(isDisplaced(first, next)))
      return true;
    if (!canCarry(second) || first.getType() != second.getType())
      return false;
    if (!llvm::is_contained(carried_, pair))
      carried_.push_back(pair);
    return true;
  }

  // Is the second value the first one and something that is the same in all of a tile? Ahead of the loop that
  // is 0.
  bool isDisplaced(Value first, Operation *next) {
    if (!isa_and_nonnull<arith::AddIOp, AddPtrOp>(next))
      return false;
    for (unsigned moved : {0u, 1u}) {
      auto offset = next->getOperand(1 - moved).getDefiningOp<SplatOp>();
      if (!offset || (moved == 1 && isa<AddPtrOp>(next)) ||
          first.getType() != next->getOperand(moved).getType() || !match(first, next->getOperand(moved)))
        continue;
      OpBuilder builder(loop_);
      Type type = offset.getValue().getType();
      Value zero = arith::ConstantOp::create(builder, next->getLoc(), type, builder.getIntegerAttr(type, 0));
      if (!match(zero, offset.getValue()))
        return false;
      displaced_[{first, next->getResult(0)}] = {moved, zero};
      return true;
    }
    return false;
  }

  // A scalar, or a row or column of numbers. What the loop is given for a trip is nothing that it can carry
  // on: it would go over two.
  bool canCarry(Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (argument && argument.getOwner() == loop_.getBody())
      return false;
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return !type || (type.getElementType().isIntOrIndexOrFloat() &&
                     llvm::count_if(type.getShape(), [](int64_t extent) { return extent > 1; }) <= 1);
  }

  Value build(RewriterBase &rewriter, Pair pair) {
    auto found = known_.find(pair);
    if (found != known_.end())
      return found->second;
    Operation *ahead = pair.first.getDefiningOp(), *next = pair.second.getDefiningOp();
    IRMapping map;
    if (auto displaced = displaced_.find(pair); displaced != displaced_.end()) {
      auto [moved, zero] = displaced->second;
      auto offset = next->getOperand(1 - moved).getDefiningOp<SplatOp>();
      map.map(next->getOperand(moved), build(rewriter, {pair.first, next->getOperand(moved)}));
      map.map(offset.getResult(), SplatOp::create(rewriter, offset.getLoc(), offset.getType(),
                                                  build(rewriter, {zero, offset.getValue()})));
    } else {
      for (auto [first, second] : llvm::zip(ahead->getOperands(), next->getOperands()))
        map.map(second, build(rewriter, {first, second}));
    }
    return known_[pair] = rewriter.clone(*next, map)->getResult(0);
  }

  scf::ForOp loop_;
  unsigned index_;
  SmallVector<Pair> carried_, alike_; // to be carried; made by ops that are alike
  llvm::MapVector<Pair, unsigned> carriedAlready_;
  // The operand that is as the first value, and the 0 that stands for the other.
  llvm::DenseMap<Pair, std::pair<unsigned, Value>> displaced_;
  llvm::DenseMap<Pair, Value> known_; // what stands for a pair in a trip
};

} // namespace

void loadInOwnTrip(Operation *function, std::vector<diag::Remark> &remarks) {
  SmallVector<scf::ForOp> loops;
  function->walk([&](scf::ForOp loop) { loops.push_back(loop); });
  for (scf::ForOp loop : loops)
    for (unsigned i = 0; i < loop.getInitArgs().size(); ++i)
      if (scf::ForOp made = CarriedLoad(loop, i).run()) {
        loop = made;
        remarks.push_back({locationText(loop.getLoc()), "pipeline",
                           "an operand that was loaded a trip ahead is loaded in its own, where it can run "
                           "ahead further"});
      }
}

} // namespace tegula::transforms
