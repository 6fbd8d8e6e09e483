#include "transforms/UnrollShortLoops.h"
#include "analysis/OpCost.h"
#include "ir/simt/Chunks.h"
#include "ir/simt/Simt.h"
#include "ir/tile/Elementwise.h"
#include "transforms/ThreadCosts.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {

namespace {

// Elements of a tile that a thread has: by its layout, or an even share before it has one.
int64_t elementsOf(RankedTensorType type, int64_t threads) {
  if (type.getEncoding())
    return int64_t(simt::layoutOf(type).liveRegisters().size());
  return llvm::divideCeil(type.getNumElements(), threads);
}

// Loops that are short by the instructions of a thread.
struct ShortLoops {
  int64_t most;                                // instructions of all trips
  int64_t threads;                             // that share a tile without a layout
  llvm::function_ref<bool(Operation *)> stays; // in its loop

  // Returns the instructions of a thread for an op, at most `most`; more for what must stay in its loop.
  int64_t workOf(Operation *op) const {
    if (stays(op))
      return most + 1;
    int64_t elements = 1, work = 0;
    for (Type type : llvm::concat<Type>(op->getResultTypes(), op->getOperandTypes()))
      if (auto tile = dyn_cast<RankedTensorType>(type))
        elements = std::max(elements, elementsOf(tile, threads));
    if (auto width = op->getAttrOfType<IntegerAttr>(simt::widthName))
      elements = std::max<int64_t>(elements / width.getInt(), 1);
    for (Region &region : op->getRegions())
      for (Operation &inner : region.getOps())
        if (work <= most && !inner.hasTrait<OpTrait::IsTerminator>())
          work += workOf(&inner);
    return elements * (work + analysis::costOf(op, threadCosts));
  }

  bool contains(scf::ForOp loop) const {
    std::optional<APInt> step = loop.getConstantStep(), trips = loop.getStaticTripCount();
    if (!step || !step->isStrictlyPositive() || !trips || trips->ugt(uint64_t(most)) ||
        loop->hasAttr(simt::chunksName))
      return false;
    int64_t work = 0;
    for (Operation &op : loop.getBody()->without_terminator())
      if (work <= most)
        work += workOf(&op);
    return work * trips->getSExtValue() <= most;
  }
};

void unroll(Operation *function, const ShortLoops &shortLoops) {
  SmallVector<scf::ForOp> loops; // inner ones first
  function->walk([&](scf::ForOp loop) { loops.push_back(loop); });
  for (scf::ForOp loop : loops)
    if (shortLoops.contains(loop))
      (void)loopUnrollFull(loop);
}

// A trip waits for it: loads of the next trips start no earlier where these stand behind one another, and the
// registers of all trips keep programs out whose atomics could be under way.
bool isWaitedFor(Operation *op) { return isa<AtomicRMWOp, AtomicCASOp>(op) && !op->use_empty(); }

// Products, loops, and what a copy or its wait is.
bool isOfLoops(Operation *op) {
  bool isOfThreads = isa<simt::ConvertOp, simt::BarrierOp>(op);
  return isa<DotOp, LoopLikeOpInterface>(op) || isWaitedFor(op) ||
         (isa<simt::SimtDialect>(op->getDialect()) && !isOfThreads);
}

// All but what each element has for itself.
bool isOfNeighbours(Operation *op) {
  bool isOfTiles = hasTile(op->getOperands()) || hasTile(op->getResults());
  return isa<LoopLikeOpInterface>(op) || isWaitedFor(op) ||
         (isOfTiles &&
          !isa<LoadOp, StoreOp, MakeRangeOp, SplatOp, ExpandDimsOp, BroadcastOp, arith::ConstantOp>(op) &&
          !isElementwise(op));
}

} // namespace

void unrollShortLoops(Operation *function, const simt::Costs &costs) {
  unroll(function, {costs.unrolledWork, 1, isOfLoops});
}

void unrollElementwiseLoops(Operation *function, int64_t threads, const simt::Costs &costs) {
  unroll(function, {costs.unrolledWork, threads, isOfNeighbours});
}

} // namespace tegula::transforms
