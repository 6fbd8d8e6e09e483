#include "transforms/LoopVersions.h"
#include "analysis/AxisInfo.h"
#include "ir/tile/Tile.h"

#include "mlir/Analysis/TopologicalSortUtils.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {

namespace {

constexpr unsigned accessBits = 128;

// The ops ahead of the loop through which what it reads comes from one of the `roots`, operands first.
llvm::SetVector<Operation *> changedAhead(scf::ForOp loop, ArrayRef<Operation *> roots) {
  llvm::DenseSet<Operation *> needed;
  SmallVector<Value> work(loop->getOperands());
  loop.getBody()->walk([&](Operation *op) { llvm::append_range(work, op->getOperands()); });
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (op && !loop->isAncestor(op) && !op->getNumRegions() && isMemoryEffectFree(op) &&
        needed.insert(op).second)
      llvm::append_range(work, op->getOperands());
  }
  llvm::SetVector<Operation *> changed(roots.begin(), roots.end());
  for (size_t i = 0; i != changed.size(); ++i)
    for (Operation *user : changed[i]->getUsers())
      if (needed.contains(user))
        changed.insert(user);
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

void versionLoop(scf::ForOp loop, Value condition, ArrayRef<Operation *> changed,
                 llvm::function_ref<Value(OpBuilder &, Operation *, const IRMapping &)> replacement) {
  OpBuilder builder(loop);
  auto branch =
      scf::IfOp::create(builder, loop.getLoc(), loop.getResultTypes(), condition, /*withElseRegion=*/true);
  for (auto [old, result] : llvm::zip(loop.getResults(), branch.getResults()))
    old.replaceAllUsesWith(result);
  builder.setInsertionPointToStart(branch.thenBlock());
  IRMapping map;
  for (Operation *op : changedAhead(loop, changed))
    if (llvm::is_contained(changed, op))
      map.map(op->getResult(0), replacement(builder, op, map));
    else
      builder.clone(*op, map);
  Operation *version = builder.clone(*loop, map);
  finish(branch.thenBlock(), version);
  loop->moveBefore(branch.elseBlock(), branch.elseBlock()->begin());
  finish(branch.elseBlock(), loop);
}

} // namespace tegula::transforms
