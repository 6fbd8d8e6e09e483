#include "convert/Classes.h"
#include "analysis/OpCost.h"
#include "ir/tile/Elementwise.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::convert {

namespace {

// Never computed again, whatever the machine's limit is.
constexpr int64_t tooMuch = 1 << 16;

// In simple instructions of a thread.
constexpr analysis::OpCosts threadCosts{.position = 1,
                                        .simple = 1,
                                        .floatDivision = tooMuch,
                                        .floatRemainder = tooMuch,
                                        .division = 12,
                                        .constantDivision = 4,
                                        .powerOfTwoDivision = 1,
                                        .wideProduct = 6,
                                        .simpleMath = tooMuch,
                                        .math = tooMuch,
                                        .longMath = tooMuch};

} // namespace

Classes::Classes(FuncOp function, const simt::Costs &costs) : recomputedOps_(double(costs.recomputedOps)) {
  classifyAll(function);
  if (countSharers()) {
    set_ = {};
    classifyAll(function);
  }
  function.walk([&](Operation *op) { tie(op); });
  llvm::DenseSet<Value> seen;
  auto lead = [&](Value value) {
    if (isTile(value) && isData(value) && seen.insert(leader(value)).second)
      leaders_.push_back(leader(value));
  };
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Value result : op->getResults())
      lead(result);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          lead(argument);
  });
}

void Classes::classifyAll(FuncOp function) {
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          if (isTile(argument))
            kinds_[argument] = Kind::Data;
    classify(op);
  });
}

// Values that are too dear one by one may have most of their computation in common: the taps of a filter,
// each at its distance of the same pixel. Moved, each would be so by itself; computed again, what they share
// is so once. Counts the values that an op is computed for; returns whether some have an op in common.
bool Classes::countSharers() {
  constexpr size_t mostSteps = 1 << 14;
  size_t steps = 0;
  bool areShared = false;
  for (Value dear : dear_) {
    if (llvm::none_of(dear.getUsers(), [](Operation *user) { return isa<ExpandDimsOp, BroadcastOp>(user); }))
      continue; // nobody asks for it in another layout
    llvm::SetVector<Operation *> slice;
    slice.insert(dear.getDefiningOp());
    for (unsigned i = 0; i != slice.size(); ++i)
      for (Value operand : slice[i]->getOperands())
        if (isTile(operand) && (!isData(operand) || dear_.contains(operand)))
          slice.insert(operand.getDefiningOp());
    steps += slice.size();
    if (steps > mostSteps)
      return sharers_.clear(), false;
    for (Operation *op : slice)
      areShared |= ++sharers_[op] > 1;
  }
  return areShared;
}

void Classes::classify(Operation *op) {
  if (op->getNumResults() == 0 || !hasTile(op->getResults()))
    return;
  Kind kind = Kind::Data;
  double cost = 0;
  auto operands = llvm::make_filter_range(op->getOperands(), [](Value value) { return isTile(value); });
  if (isa<SplatOp, MakeRangeOp, arith::ConstantOp>(op)) {
    kind = Kind::Cheap;
  } else if (isa<ExpandDimsOp, BroadcastOp>(op)) {
    Value source = op->getOperand(0);
    kind = isData(source) ? Kind::View : kinds_.lookup(source);
    cost = costs_.lookup(source);
  } else if (isa<TransOp, ReshapeOp>(op) && !isData(op->getOperand(0))) {
    // A reshape that is not linear stays where it is.
    auto powers = [](Type type) {
      return llvm::all_of(shapeOf(type), [](int64_t e) { return llvm::isPowerOf2_64(e); });
    };
    if (isa<TransOp>(op) || (powers(op->getOperand(0).getType()) && powers(op->getResult(0).getType()))) {
      kind = kinds_.lookup(op->getOperand(0));
      cost = costs_.lookup(op->getOperand(0));
    }
  } else if (isElementwise(op) && op->getNumResults() == 1 && isMemoryEffectFree(op) &&
             llvm::none_of(operands, [&](Value v) { return isData(v); })) {
    cost = double(costOf(op, threadCosts)) / std::max(sharers_.lookup(op), 1u);
    kind = Kind::Cheap;
    for (Value operand : operands) {
      cost += costs_.lookup(operand);
      if (kinds_.lookup(operand) == Kind::View)
        kind = Kind::View;
    }
    if (cost > recomputedOps_) {
      kind = Kind::Data;
      dear_.insert(op->getResult(0));
    }
  }
  for (Value result : op->getResults())
    if (isTile(result)) {
      kinds_[result] = kind;
      costs_[result] = kind == Kind::Data ? 0 : cost;
      if (kind == Kind::Data)
        set_.insert(result.getAsOpaquePointer());
    }
}

void Classes::unite(ValueRange values) {
  Value first;
  for (Value value : values) {
    if (!isTile(value) || !isData(value))
      continue;
    set_.insert(value.getAsOpaquePointer());
    if (first && shapeOf(first.getType()) == shapeOf(value.getType()))
      set_.unionSets(first.getAsOpaquePointer(), value.getAsOpaquePointer());
    else if (!first)
      first = value;
  }
}

void Classes::tie(Operation *op) {
  SmallVector<Value> all(op->getOperands());
  llvm::append_range(all, op->getResults());
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    for (unsigned i = 0; i != loop.getNumResults(); ++i)
      unite({loop.getInitArgs()[i], loop.getRegionIterArg(i), loop.getYieldedValues()[i], loop.getResult(i)});
  } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    for (unsigned i = 0; i != loop.getInits().size(); ++i)
      unite({loop.getInits()[i], loop.getBeforeArguments()[i], loop.getYieldOp()->getOperand(i)});
    for (unsigned i = 0; i != loop.getNumResults(); ++i)
      unite({loop.getConditionOp().getArgs()[i], loop.getAfterArguments()[i], loop.getResult(i)});
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    for (unsigned i = 0; i != branch.getNumResults(); ++i)
      unite({branch.getResult(i), branch.thenYield()->getOperand(i), branch.elseYield()->getOperand(i)});
  } else if (auto dot = dyn_cast<DotOp>(op)) {
    unite({dot.getAcc(), dot.getResult()});
  } else if (isa<ReduceOp>(op)) {
    unite(op->getOperands());
    unite(op->getResults());
  } else if (isa<JoinOp>(op)) {
    unite(op->getOperands());
  } else if (isa<SplitOp>(op)) {
    unite(op->getResults());
  } else if (isa<GatherOp>(op)) {
    unite({op->getOperand(1), op->getResult(0)});
  } else if (isElementwise(op) || isa<LoadOp, StoreOp, AtomicRMWOp, AtomicCASOp, ScanOp>(op)) {
    unite(all); // one coordinate, one element
  }
}

} // namespace tegula::convert
