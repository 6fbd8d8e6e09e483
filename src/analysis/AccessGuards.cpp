#include "analysis/AccessGuards.h"
#include "analysis/Access.h"
#include "ir/tile/Elementwise.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::analysis {

namespace {

// A disjunction or a condition of more parts than this guards nothing.
constexpr size_t mostGuards = 16;

// Guards at the coordinates of an op's result, at those of its operand: the ones that lie along its
// dimensions.
template <typename Guards> Guards behindView(const Guards &guards, ArrayRef<int8_t> map) {
  Guards result;
  for (Guard guard : guards) {
    bool liesThere = true;
    for (int8_t &dim : guard.condition.dims) {
      const int8_t *at = dim < 0 ? map.end() : llvm::find(map, dim);
      liesThere &= dim < 0 || at != map.end();
      dim = dim < 0 ? int8_t(-1) : int8_t(at - map.begin());
    }
    if (liesThere)
      result.push_back(std::move(guard));
  }
  return result;
}

// Adds the parts of a condition at the coordinates of a value of its shape.
template <typename Guards> Guards guardedBy(Guards guards, Value condition, bool isNegated = false) {
  SmallVector<Factor, 2> parts;
  if (isNegated) {
    Factor whole{condition, 0, {}};
    for (size_t d = 0; d < shapeOf(condition.getType()).size(); ++d)
      whole.dims.push_back(int8_t(d));
    parts.push_back(std::move(whole));
  } else if (auto conditions = conditionsOf(condition)) {
    parts = std::move(*conditions);
  }
  for (Factor &part : parts)
    if (Guard guard{std::move(part), isNegated};
        guards.size() < mostGuards && !llvm::is_contained(guards, guard))
      guards.push_back(std::move(guard));
  return guards;
}

} // namespace

AccessGuards::AccessGuards(FuncOp function) {
  // Uses come before what they use, but for what loops carry.
  SmallVector<Operation *> ops;
  function.walk([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : llvm::reverse(ops))
    needOperands(op);
  while (!work_.empty())
    pass(work_.pop_back_val());
}

// Needs the operands of ops that do more than compute a value.
void AccessGuards::needOperands(Operation *op) {
  auto needUnderMask = [&](Value pointers, Value mask) {
    need(pointers, mask ? guardedBy(Guards(), mask) : Guards());
    needAll(op->getOperands().drop_front());
  };
  if (auto load = dyn_cast<LoadOp>(op))
    return needUnderMask(load.getPtr(), load.getMask());
  if (auto store = dyn_cast<StoreOp>(op))
    return needUnderMask(store.getPtr(), store.getMask());
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return needAll({loop.getLowerBound(), loop.getUpperBound(), loop.getStep()});
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return need(branch.getCondition(), {});
  bool isOfLoopOrBranch = isa<scf::YieldOp>(op) && isa<scf::ForOp, scf::IfOp>(op->getParentOp());
  bool isMore = op->getNumRegions() || op->hasTrait<OpTrait::IsTerminator>() || !isMemoryEffectFree(op);
  if (isMore && !isOfLoopOrBranch)
    needAll(op->getOperands());
}

ArrayRef<Guard> AccessGuards::of(Value value) const {
  auto found = guards_.find(value);
  return found == guards_.end() ? ArrayRef<Guard>() : ArrayRef<Guard>(found->second);
}

void AccessGuards::needAll(ValueRange values) {
  for (Value value : values)
    need(value, {});
}

void AccessGuards::need(Value value, Guards guards) {
  auto [known, isNew] = guards_.try_emplace(value, guards);
  size_t before = known->second.size();
  llvm::erase_if(known->second, [&](const Guard &guard) { return !llvm::is_contained(guards, guard); });
  if (isNew || known->second.size() != before)
    work_.push_back(value);
}

// A condition that a loop or branch computes is another one in the next trip, or not there.
void AccessGuards::passToRegions(OpResult result, const Guards &guards) {
  Operation *op = result.getOwner();
  Guards outside;
  llvm::copy_if(guards, std::back_inserter(outside), [&](const Guard &guard) {
    Value condition = guard.condition.value;
    return !op->isAncestor(condition.getParentRegion()->getParentOp());
  });
  if (auto loop = dyn_cast<scf::ForOp>(op))
    need(loop.getInits()[result.getResultNumber()], outside);
  for (Region &region : op->getRegions())
    if (!region.empty())
      need(region.front().getTerminator()->getOperand(result.getResultNumber()), outside);
}

void AccessGuards::pass(Value value) {
  Guards guards = guards_.lookup(value);
  Operation *op = value.getDefiningOp();
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (auto loop = dyn_cast<scf::ForOp>(parent); loop && argument != loop.getInductionVar())
      passToRegions(loop.getTiedLoopResult(argument), guards);
    return; // what other loops carry is needed for all its elements
  }
  if (isa<scf::ForOp, scf::IfOp>(op))
    return passToRegions(cast<OpResult>(value), guards);
  if (op->getNumRegions() || !isMemoryEffectFree(op))
    return; // its operands are needed already
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    Value condition = select.getCondition();
    need(condition, isTile(condition) ? guards : behindView(guards, {}));
    need(select.getTrueValue(), guardedBy(guards, condition));
    need(select.getFalseValue(), guardedBy(guards, condition, true));
  } else if (isElementwise(op)) {
    for (Value operand : op->getOperands())
      need(operand, guards);
  } else if (auto map = coordinateMap(op)) {
    need(op->getOperand(0), behindView(guards, *map));
  } else if (isa<SplatOp>(op)) {
    need(op->getOperand(0), behindView(guards, {}));
  } else {
    needAll(op->getOperands());
  }
}

} // namespace tegula::analysis
