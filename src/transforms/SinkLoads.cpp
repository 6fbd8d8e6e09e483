#include "transforms/SinkLoads.h"
#include "ir/simt/Scratch.h"
#include "ir/simt/Simt.h"
#include "transforms/EarlyOps.h"
#include "transforms/ProductLoops.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {

namespace {

class LoopWithSums {
public:
  LoopWithSums(scf::ForOp loop, const simt::Machine &machine) : loop_(loop), stores_(loop) {
    unsigned sums = 0;
    loop.getBody()->walk([&](DotOp dot) { sums += simt::registersOf(dot.getType()); });
    double most = machine.registersOfThread(simt::warpsOf(loop)) * machine.costs.crowdedRegisters;
    free_ = most - sums - machine.costs.besideSums;
  }

  // From the last op to the first, so that what an op needs is looked at behind it.
  void sink() {
    Operation *behind = loop_;
    for (Operation *op = loop_->getPrevNode(), *before = nullptr; op; op = before) {
      before = op->getPrevNode();
      bool isLoad = isCrowdingLoad(op);
      if (!isMemoryEffectFree(op) && !isa<LoadOp>(op))
        return; // nothing passes it
      if (!(isLoad || isOfMoved(op)) || !isNeededBehind(op))
        continue;
      op->moveAfter(behind);
      moved_.insert(op);
    }
  }

private:
  bool isCrowdingLoad(Operation *op) {
    auto load = dyn_cast<LoadOp>(op);
    return load && isTile(load.getResult()) && !load.getIsVolatile() &&
           simt::registersOf(load.getType()) > free_ && !stores_.mayReach(load);
  }

  // Ops that neither do anything nor have threads meet.
  static bool mayWait(Operation *op) { return op->getNumRegions() == 0 && isMemoryEffectFree(op); }

  // Is it computed from such a load, or for what has moved?
  bool isOfMoved(Operation *op) {
    auto isMoved = [&](Operation *user) { return moved_.contains(user); };
    return mayWait(op) &&
           (llvm::any_of(op->getUsers(), isMoved) || llvm::any_of(op->getOperands(), [&](Value operand) {
              return operand.getDefiningOp() && isCrowdingLoad(operand.getDefiningOp());
            }));
  }

  bool isNeededBehind(Operation *op) {
    return !op->use_empty() && llvm::all_of(op->getUsers(), [&](Operation *user) {
      Operation *here = loop_->getBlock()->findAncestorOpInBlock(*user);
      return here && loop_->isBeforeInBlock(here);
    });
  }

  scf::ForOp loop_;
  StoresOf stores_;
  double free_; // registers of a thread, beside the sums
  llvm::DenseSet<Operation *> moved_;
};

} // namespace

void sinkLoads(Operation *function, const simt::Machine &machine) {
  for (scf::ForOp loop : innermostLoopsOfDots(function))
    LoopWithSums(loop, machine).sink();
}

} // namespace tegula::transforms
