#include "transforms/RotateWhiles.h"
#include "ir/simt/Simt.h"
#include "ir/tile/Elementwise.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {

namespace {

constexpr int64_t mostCopied = 16; // ops of a condition

// Does the condition take a reduction and little else? An exit in the middle of a trip has most of the trip
// ahead of it, which nobody wants twice.
bool reducesFew(Block &condition) {
  bool reduces = false;
  int64_t ops = 0;
  for (Operation &op : condition.without_terminator()) {
    bool isReduction = isa<ReduceOp>(op), isBarrier = isa<simt::BarrierOp>(op);
    if (!isReduction && !isBarrier && (op.getNumRegions() || !isMemoryEffectFree(&op)))
      return false;
    reduces |= isReduction;
    ops += !isBarrier;
  }
  return reduces && ops <= mostCopied;
}

bool loadsTiles(scf::WhileOp loop) {
  return llvm::any_of(loop.getAfterBody()->getOps<LoadOp>(),
                      [](LoadOp load) { return isTile(load.getType()); });
}

} // namespace

void rotateWhiles(Operation *function) {
  SmallVector<scf::WhileOp> loops;
  function->walk([&](scf::WhileOp loop) {
    if (reducesFew(*loop.getBeforeBody()) && loadsTiles(loop))
      loops.push_back(loop);
  });
  IRRewriter rewriter(function->getContext());
  for (scf::WhileOp loop : loops) {
    rewriter.setInsertionPoint(loop);
    (void)scf::wrapWhileLoopInZeroTripCheck(loop, rewriter);
  }
}

} // namespace tegula::transforms
