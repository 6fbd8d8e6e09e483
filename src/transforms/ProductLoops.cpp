#include "transforms/ProductLoops.h"
#include "ir/simt/Scratch.h"
#include "ir/simt/Stages.h"
#include "ir/tile/Elementwise.h"
#include "ir/tile/Tile.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {

namespace {

bool isView(Operation *op) { return isa_and_nonnull<SplatOp, ExpandDimsOp, BroadcastOp, TransOp>(op); }

} // namespace

SmallVector<scf::ForOp> innermostLoopsOfDots(Operation *function) {
  llvm::DenseSet<Operation *> haveDots, haveLoops;
  function->walk([&](Operation *op) {
    bool isLoop = isa<LoopLikeOpInterface>(op);
    if (isLoop || isa<DotOp>(op))
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

bool isStream(scf::ForOp loop) {
  auto isOther = [](Operation *op) {
    bool stays = isa<DotOp, LoopLikeOpInterface>(op);
    return stays ? WalkResult::interrupt() : WalkResult::advance();
  };
  return !loop.getBody()->walk(isOther).wasInterrupted();
}

bool isStagedStream(scf::ForOp loop) {
  return loop->hasAttr(simt::stagesName) && simt::stagesOf(loop, 0) >= 2 && isStream(loop);
}

unsigned heldByProducts(scf::ForOp loop) {
  unsigned carried = 0, largest = 0;
  for (Value argument : loop.getRegionIterArgs())
    carried += simt::registersOf(argument.getType());
  loop.getBody()->walk([&](DotOp dot) {
    if (!dot.getResult().hasOneUse() || !isa<scf::YieldOp>(*dot->getUsers().begin()))
      largest = std::max(largest, simt::registersOf(dot.getType()));
  });
  return carried + largest;
}

unsigned mostHeldInTrip(scf::ForOp loop) {
  llvm::DenseSet<Value> live;
  unsigned held = 0, most = 0;
  auto isReadLate = [](Operation *op) {
    auto convert = dyn_cast_or_null<simt::ConvertOp>(op);
    return isa_and_nonnull<simt::LocalLoadOp>(op) || (convert && convert.isThroughShared());
  };
  auto registers = [&](Value value) {
    Operation *op = value.getDefiningOp();
    bool isHeld = isa<FloatType>(elementType(value.getType())) && !isReadLate(op) &&
                  !isa_and_nonnull<arith::ConstantOp>(op);
    return isHeld ? simt::registersOf(value.getType()) : 0;
  };
  for (Operation &op : llvm::reverse(*loop.getBody())) {
    for (Value result : op.getResults())
      if (live.erase(result))
        held -= registers(result);
    if (!isView(&op))
      op.walk([&](Operation *inner) {
        for (Value value : inner->getOperands()) {
          while (isView(value.getDefiningOp()))
            value = value.getDefiningOp()->getOperand(0);
          if (value.getParentRegion() == &loop.getRegion() && live.insert(value).second)
            held += registers(value);
        }
      });
    most = std::max(most, held);
  }
  return most;
}

} // namespace tegula::transforms
