#include "transforms/LoopVersions.h"
#include "analysis/AxisInfo.h"
#include "ir/tile/Tile.h"

#include "mlir/Analysis/TopologicalSortUtils.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {

namespace {

constexpr unsigned accessBits = 128;

// The ops ahead of the loop through which what it reads comes from one of the `roots`, those that make them
// among these, operands first.
llvm::SetVector<Operation *> changedAhead(scf::ForOp loop, ArrayRef<Value> roots) {
  llvm::DenseSet<Operation *> needed;
  SmallVector<Value> work(loop->getOperands());
  loop.getBody()->walk([&](Operation *op) { llvm::append_range(work, op->getOperands()); });
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (op && !loop->isAncestor(op) && !op->getNumRegions() && isMemoryEffectFree(op) &&
        needed.insert(op).second)
      llvm::append_range(work, op->getOperands());
  }
  llvm::SetVector<Operation *> changed;
  auto addUsers = [&](Value value) {
    for (Operation *user : value.getUsers())
      if (needed.contains(user))
        changed.insert(user);
  };
  for (Value root : roots)
    if (Operation *op = root.getDefiningOp())
      changed.insert(op);
    else
      addUsers(root);
  for (size_t i = 0; i != changed.size(); ++i)
    for (Value result : changed[i]->getResults())
      addUsers(result);
  return topologicalSort(changed);
}

// Ends a branch, which has no terminator yet where it gives values.
void finish(Block *block, Operation *loop) {
  if (loop->getNumResults() == 0)
    return;
  OpBuilder builder = OpBuilder::atBlockEnd(block);
  scf::YieldOp::create(builder, loop->getLoc(), loop->getResults());
}

} // namespace

std::vector<unsigned> loadWidths(scf::ForOp loop) {
  analysis::AxisInfoAnalysis axes(loop->getParentOfType<FuncOp>());
  std::vector<unsigned> result;
  for (LoadOp load : loop.getOps<LoadOp>())
    if (isa<RankedTensorType>(load.getType()))
      result.push_back(
          axes.accessWidth(load.getPtr(), load.getMask(), axes.order(load.getPtr())[0], accessBits));
  return result;
}

void versionLoop(scf::ForOp loop, Value condition, ArrayRef<Value> changed,
                 llvm::function_ref<Value(OpBuilder &, Value, const IRMapping &)> replacement) {
  OpBuilder builder(loop);
  auto branch =
      scf::IfOp::create(builder, loop.getLoc(), loop.getResultTypes(), condition, /*withElseRegion=*/true);
  for (auto [old, result] : llvm::zip(loop.getResults(), branch.getResults()))
    old.replaceAllUsesWith(result);
  builder.setInsertionPointToStart(branch.thenBlock());
  IRMapping map;
  for (Value value : changed)
    if (isa<BlockArgument>(value))
      map.map(value, replacement(builder, value, map));
  for (Operation *op : changedAhead(loop, changed))
    if (op->getNumResults() == 1 && llvm::is_contained(changed, op->getResult(0)))
      map.map(op->getResult(0), replacement(builder, op->getResult(0), map));
    else
      builder.clone(*op, map);
  Operation *version = builder.clone(*loop, map);
  version->setAttr(isVersionName, builder.getUnitAttr());
  finish(branch.thenBlock(), version);
  loop->setAttr(hasVersionName, builder.getUnitAttr());
  loop->moveBefore(branch.elseBlock(), branch.elseBlock()->begin());
  finish(branch.elseBlock(), loop);
}

} // namespace tegula::transforms
