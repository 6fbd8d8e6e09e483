#include "transforms/UnrollAsAsked.h"
#include "ir/simt/Simt.h"
#include "ir/simt/Stages.h"
#include "ir/tile/Tile.h"
#include "transforms/ProductLoops.h"

#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {

namespace {

// Of what each trip loads anew.
uint64_t bytesOfTrip(scf::ForOp loop) {
  uint64_t bytes = 0;
  for (LoadOp load : loop.getBody()->getOps<LoadOp>())
    if (auto type = dyn_cast<RankedTensorType>(load.getType());
        type && type.getElementType().isIntOrFloat() && !loop.isDefinedOutsideOfLoop(load.getPtr()))
      bytes += uint64_t(type.getNumElements()) * type.getElementTypeBitWidth() / 8;
  return bytes;
}

} // namespace

void unrollAsAsked(Operation *function, unsigned stages, const simt::Machine &machine) {
  auto setStages = [&](scf::ForOp loop, unsigned slots) {
    loop->setAttr(simt::stagesName, IntegerAttr::get(IntegerType::get(function->getContext(), 32), slots));
  };
  for (scf::ForOp loop : innermostLoopsOfDots(function)) {
    unsigned factor = simt::unrollFactorOf(loop), asked = std::max(simt::stagesOf(loop, stages), 1u);
    unsigned slots = llvm::divideCeil(asked - 1, factor) + 1; // of trips together
    if (factor < 2 || loop.getUnsignedCmp() ||
        factor * slots * bytesOfTrip(loop) > machine.costs.unrolledBytes)
      continue;
    FailureOr<UnrolledLoopInfo> unrolled = loopUnrollByFactor(loop, factor);
    if (failed(unrolled))
      continue;
    if (unrolled->mainLoopOp)
      setStages(*unrolled->mainLoopOp, slots);
    if (unrolled->epilogueLoopOp)
      setStages(*unrolled->epilogueLoopOp, 1);
  }
}

} // namespace tegula::transforms
