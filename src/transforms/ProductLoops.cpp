#include "transforms/ProductLoops.h"
#include "ir/simt/Scratch.h"
#include "ir/tile/Tile.h"

using namespace mlir;

namespace tegula::transforms {

SmallVector<scf::ForOp> innermostLoopsOfDots(Operation *function) {
  llvm::DenseSet<Operation *> haveDots, haveLoops;
  function->walk([&](Operation *op) {
    bool isLoop = isa<LoopLikeOpInterface>(op);
    if (isLoop || isa<tile::DotOp>(op))
      if (auto around = op->getParentOfType<LoopLikeOpInterface>())
        (isLoop ? haveLoops : haveDots).insert(around);
  });
  SmallVector<scf::ForOp> loops;
  function->walk([&](scf::ForOp loop) {
    if (haveDots.contains(loop) && !haveLoops.contains(loop))
      loops.push_back(loop);
  });
  return loops;
}

unsigned heldByProducts(scf::ForOp loop) {
  unsigned carried = 0, largest = 0;
  for (Value argument : loop.getRegionIterArgs())
    carried += simt::registersOf(argument.getType());
  loop.getBody()->walk([&](tile::DotOp dot) {
    if (!dot.getResult().hasOneUse() || !isa<scf::YieldOp>(*dot->getUsers().begin()))
      largest = std::max(largest, simt::registersOf(dot.getType()));
  });
  return carried + largest;
}

} // namespace tegula::transforms
