#include "transforms/EarlyOps.h"
#include "ir/simt/Scratch.h"
#include "ir/tile/Volatile.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {

void EarlyOps::add(Operation *op) {
  if (ops_.insert(op))
    op->walk([&](Operation *inner) { llvm::append_range(work_, inner->getOperands()); });
}

const char *EarlyOps::find() {
  while (!work_.empty()) {
    Value value = work_.pop_back_val();
    if (!seen_.insert(value).second)
      continue;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (argument.getOwner() == loop_.getBody() && argument != loop_.getInductionVar())
        if (const char *why = findOf(argument))
          return why;
      continue;
    }
    Operation *op = value.getDefiningOp(); // in a region of one of the ops: it is there already
    if (op->getBlock() != loop_.getBody() || isa<simt::AllocOp>(op) || contains(op))
      continue;
    bool isLoad = isa<LoadOp>(op) && !isVolatile(op);
    if (op->getNumRegions() || simt::scratchBytes(op) || !(isLoad || isMemoryEffectFree(op)) ||
        isa<DotOp>(op))
      return "where its copies begin comes from what the trip computes";
    add(op);
  }
  return nullptr;
}

// The pipeliner follows what an op of the trip before computes.
const char *EarlyOps::findOf(BlockArgument carried) {
  Value next = loop_.getYieldedValues()[carried.getArgNumber() - 1];
  if (!next.getDefiningOp() || next.getParentBlock() != loop_.getBody())
    return "a value is carried to the next trip that no op of this one computes";
  work_.push_back(next);
  return nullptr;
}

StoresOf::StoresOf(scf::ForOp loop) {
  loop.getBody()->walk([&](Operation *op) {
    if (isa<StoreOp, AtomicRMWOp, AtomicCASOp>(op))
      written_.push_back(op->getOperand(0));
  });
}

bool StoresOf::mayReach(LoadOp load) {
  analysis::OriginSet from = origins_.of(load.getPtr()); // a copy: the next answer may move it
  return llvm::any_of(written_, [&](Value address) { return from.mayShare(origins_.of(address)); });
}

} // namespace tegula::transforms
