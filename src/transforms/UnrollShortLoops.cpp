#include "transforms/UnrollShortLoops.h"
#include "analysis/OpCost.h"
#include "ir/simt/Chunks.h"
#include "ir/simt/Simt.h"
#include "transforms/ThreadCosts.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {

namespace {

// Returns the instructions of a thread for an op, at most `most`; more for what must stay in its loop.
int64_t workOf(Operation *op, int64_t most) {
  bool isOfThreads = isa<simt::ConvertOp, simt::BarrierOp>(op);
  if (isa<DotOp, LoopLikeOpInterface>(op) || (isa<simt::SimtDialect>(op->getDialect()) && !isOfThreads))
    return most + 1;
  int64_t elements = 1, work = 0;
  for (Type type : llvm::concat<Type>(op->getResultTypes(), op->getOperandTypes()))
    if (isa<RankedTensorType>(type))
      elements = std::max<int64_t>(elements, int64_t(simt::layoutOf(type).liveRegisters().size()));
  if (auto width = op->getAttrOfType<IntegerAttr>(simt::widthName))
    elements = std::max<int64_t>(elements / width.getInt(), 1);
  for (Region &region : op->getRegions())
    for (Operation &inner : region.getOps())
      if (work <= most && !inner.hasTrait<OpTrait::IsTerminator>())
        work += workOf(&inner, most);
  return elements * (work + analysis::costOf(op, threadCosts));
}

bool isShort(scf::ForOp loop, int64_t most) {
  std::optional<APInt> step = loop.getConstantStep(), trips = loop.getStaticTripCount();
  if (!step || !step->isStrictlyPositive() || !trips || trips->ugt(uint64_t(most)) ||
      loop->hasAttr(simt::chunksName))
    return false;
  int64_t work = 0;
  for (Operation &op : loop.getBody()->without_terminator())
    if (work <= most)
      work += workOf(&op, most);
  return work * trips->getSExtValue() <= most;
}

} // namespace

void unrollShortLoops(Operation *function, const simt::Costs &costs) {
  SmallVector<scf::ForOp> loops; // inner ones first
  function->walk([&](scf::ForOp loop) { loops.push_back(loop); });
  for (scf::ForOp loop : loops)
    if (isShort(loop, costs.unrolledWork))
      (void)loopUnrollFull(loop);
}

} // namespace tegula::transforms
