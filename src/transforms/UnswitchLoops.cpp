#include "transforms/UnswitchLoops.h"
#include "ir/tile/Tile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {

namespace {

constexpr int64_t mostCopied = 128; // ops of a loop

bool writes(Region &region) {
  return region
      .walk([](Operation *op) {
        bool isWrite = !op->getNumRegions() && !isa<LoadOp>(op) && !isMemoryEffectFree(op);
        return isWrite ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

// Does the trip write nothing but in this `if`?
bool writesOnlyIn(scf::ForOp loop, scf::IfOp branch) {
  return llvm::none_of(*loop.getBody(), [&](Operation &op) {
    bool isOther = &op != branch && !op.hasTrait<OpTrait::IsTerminator>();
    return isOther && (op.getNumRegions() ? llvm::any_of(op.getRegions(), writes)
                                          : !isa<LoadOp>(op) && !isMemoryEffectFree(&op));
  });
}

// Ops of the trip by which a value follows from what is there ahead of the loop, in order; false: it does
// not, or by more than a few.
bool findMade(scf::ForOp loop, Value value, SmallVectorImpl<Operation *> &made) {
  constexpr size_t most = 8;
  if (!loop->isAncestor(value.getParentRegion()->getParentOp()))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumRegions() || !isPure(op) || isTile(value) || made.size() == most)
    return false;
  for (Value operand : op->getOperands())
    if (!findMade(loop, operand, made))
      return false;
  if (!llvm::is_contained(made, op))
    made.push_back(op);
  return true;
}

scf::IfOp conditionOf(scf::ForOp loop) {
  int64_t ops = 0;
  bool isLarge = loop.getBody()
                     ->walk([&](Operation *op) {
                       bool stays = isa<DotOp, LoopLikeOpInterface>(op) || ++ops > mostCopied;
                       return stays ? WalkResult::interrupt() : WalkResult::advance();
                     })
                     .wasInterrupted();
  if (isLarge)
    return {};
  for (auto branch : loop.getBody()->getOps<scf::IfOp>()) {
    SmallVector<Operation *> made;
    if (writes(branch.getThenRegion()) == writes(branch.getElseRegion()) || !writesOnlyIn(loop, branch) ||
        !findMade(loop, branch.getCondition(), made))
      continue;
    for (Operation *op : made)
      op->moveBefore(loop);
    return branch;
  }
  return {};
}

// The loop with one side of the `if` in its place.
scf::ForOp versionOf(OpBuilder &builder, scf::ForOp loop, scf::IfOp branch, bool side) {
  IRMapping mapping;
  auto copy = cast<scf::ForOp>(builder.clone(*loop, mapping));
  auto own = cast<scf::IfOp>(mapping.lookup(branch.getOperation()));
  Region &region = side ? own.getThenRegion() : own.getElseRegion();
  if (!region.empty()) {
    Block &block = region.front();
    own->replaceAllUsesWith(block.getTerminator()->getOperands());
    block.getTerminator()->erase();
    own->getBlock()->getOperations().splice(own->getIterator(), block.getOperations());
  }
  own->erase();
  return copy;
}

} // namespace

void unswitchLoops(Operation *function) {
  SmallVector<std::pair<scf::ForOp, scf::IfOp>> found;
  function->walk([&](scf::ForOp loop) {
    if (scf::IfOp branch = conditionOf(loop))
      found.push_back({loop, branch});
  });
  for (auto [loop, branch] : found) {
    OpBuilder builder(loop);
    auto choice = scf::IfOp::create(builder, loop.getLoc(), loop.getResultTypes(), branch.getCondition(),
                                    /*addThenBlock=*/true, /*addElseBlock=*/true);
    for (bool side : {true, false}) {
      Block *block = side ? choice.thenBlock() : choice.elseBlock();
      OpBuilder inside = OpBuilder::atBlockEnd(block);
      scf::ForOp copy = versionOf(inside, loop, branch, side);
      inside.setInsertionPointToEnd(block);
      scf::YieldOp::create(inside, loop.getLoc(), copy.getResults());
    }
    loop->replaceAllUsesWith(choice.getResults());
    loop->erase();
  }
}

} // namespace tegula::transforms
