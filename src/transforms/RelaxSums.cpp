#include "transforms/RelaxSums.h"
#include "analysis/PointerOrigins.h"
#include "ir/tile/Volatile.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {

namespace {

// Does the op only add floats to memory, with a result that nobody wants?
bool isSum(Operation *op) {
  auto atomic = dyn_cast<AtomicRMWOp>(op);
  return atomic && atomic.getKind() == AtomicKind::FAdd && atomic->use_empty();
}

bool mayBeRelaxed(AtomicRMWOp sum) {
  return sum.getSem() == MemSemantic::AcquireRelease && sum.getScope() != MemScope::System &&
         isa<RankedTensorType>(sum.getPtr().getType());
}

// Has the op no part in what programs tell one another: plain accesses, which acquire nothing, and what
// touches no memory of the kernel?
bool isSilent(Operation *op) {
  if (auto load = dyn_cast<LoadOp>(op))
    return !isVolatile(load);
  return isSum(op) || isa<StoreOp, tile::BarrierOp, PrintOp, AssertOp>(op) || op->getNumRegions() != 0 ||
         op->hasTrait<OpTrait::IsTerminator>() || isMemoryEffectFree(op);
}

} // namespace

void relaxSums(Operation *function) {
  SmallVector<AtomicRMWOp> sums;
  analysis::PointerOrigins origins;
  analysis::OriginSet seen; // memory that a program may acquire from
  function->walk([&](Operation *op) {
    if (isSum(op) && mayBeRelaxed(cast<AtomicRMWOp>(op)))
      sums.push_back(cast<AtomicRMWOp>(op));
    if (isSilent(op))
      return;
    if (!isa<LoadOp, AtomicRMWOp, AtomicCASOp>(op)) {
      seen.isUnknown = true;
      return;
    }
    const analysis::OriginSet &from = origins.of(op->getOperand(0));
    seen.arguments |= from.arguments;
    seen.isUnknown |= from.isUnknown;
  });
  for (AtomicRMWOp sum : sums)
    if (!seen.mayShare(origins.of(sum.getPtr())))
      sum.setSem(MemSemantic::Relaxed);
}

} // namespace tegula::transforms
