#include "transforms/UnrollShortLoops.h"
#include "analysis/OpCost.h"
#include "ir/simt/Chunks.h"
#include "ir/simt/Scratch.h"
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
  int64_t registers = 1;
  for (Type type : op->getResultTypes())
    registers = std::max<int64_t>(registers, simt::registersOf(type));
  for (Value operand : op->getOperands())
    registers = std::max<int64_t>(registers, simt::registersOf(operand.getType()));
  int64_t work = 0;
  for (Region &region : op->getRegions())
    for (Operation &inner : region.getOps())
      if (work <= most && !inner.hasTrait<OpTrait::IsTerminator>())
        work += workOf(&inner, most);
  return registers * (work + analysis::costOf(op, threadCosts));
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
