#include "ir/tile/Volatile.h"
#include "transforms/EarlyOps.h"
#include "transforms/StartNextTrip.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {

namespace {

class MayStartEarly {
public:
  MayStartEarly(const CopyPlan &plan, std::vector<diag::Remark> &remarks)
      : plan_(plan), loop_(plan.loop), remarks_(remarks) {}

  scf::ForOp run() {
    auto around = dyn_cast<scf::ForOp>(loop_->getParentOp());
    if (!around || around.getUnsignedCmp() || !isFirst(around))
      return nullptr;
    if (const char *why = reasonAgainst(around)) {
      remarkNoEarlyStart(around, why, remarks_);
      return nullptr;
    }
    return around;
  }

private:
  // No other loop of products stands ahead of the planned one.
  bool isFirst(scf::ForOp around) {
    for (Operation *op = &around.getBody()->front(); op != loop_; op = op->getNextNode())
      if (op->walk([](DotOp) { return WalkResult::interrupt(); }).wasInterrupted())
        return false;
    return true;
  }

  const char *reasonAgainst(scf::ForOp around) {
    // The pipeliner follows values over one trip: `a, b = b, a` goes over two.
    if (llvm::any_of(around.getYieldedValues(), llvm::IsaPred<BlockArgument>))
      return "a value is carried over several trips";
    EarlyOps needed(around);
    for (Value bound : {loop_.getLowerBound(), loop_.getUpperBound()})
      needed.add(bound);
    auto fromAhead = [&](Operation *op) {
      for (Value operand : op->getOperands())
        if (auto argument = dyn_cast<BlockArgument>(operand);
            argument && argument.getOwner() == loop_.getBody()) {
          if (argument != loop_.getInductionVar())
            needed.add(loop_.getInitArgs()[argument.getArgNumber() - 1]);
        } else if (loop_.isDefinedOutsideOfLoop(operand)) {
          needed.add(operand);
        }
    };
    for (Operation *op : plan_.ahead)
      fromAhead(op);
    for (const CopiedLoad &copied : plan_.copied)
      fromAhead(copied.load);
    if (const char *why = needed.find())
      return why;
    return reasonOfOrder(around, needed);
  }

  // Do the loads meet something that stands in their way to the trip before?
  const char *reasonOfOrder(scf::ForOp around, const EarlyOps &needed) {
    if (waitsForOthers(around))
      return "it waits for others, or does what the compiler does not see";
    StoresOf stores(around);
    bool conflicts = false;
    for (CopiedLoad copied : plan_.copied)
      conflicts |= stores.mayReach(copied.load);
    for (auto *ops : {&needed.ops(), &plan_.ahead})
      for (Operation *op : *ops)
        if (auto load = dyn_cast<LoadOp>(op))
          conflicts |= stores.mayReach(load);
    return conflicts ? "it may store to what the next one copies" : nullptr;
  }

  static bool waitsForOthers(scf::ForOp around) {
    auto waits = [](Operation *op) {
      if (auto assembly = dyn_cast<ElementwiseInlineAsmOp>(op))
        return !assembly.getPure();
      if (isa<AtomicRMWOp, AtomicCASOp>(op))
        return !op->use_empty();
      return isa<BarrierOp>(op) || (isa<LoadOp>(op) && isVolatile(op));
    };
    return around.getBody()
        ->walk([&](Operation *op) { return waits(op) ? WalkResult::interrupt() : WalkResult::advance(); })
        .wasInterrupted();
  }

  const CopyPlan &plan_;
  scf::ForOp loop_; // of products
  std::vector<diag::Remark> &remarks_;
};

} // namespace

scf::ForOp loopThatMayStartEarly(const CopyPlan &plan, std::vector<diag::Remark> &remarks) {
  return MayStartEarly(plan, remarks).run();
}

void remarkNoEarlyStart(scf::ForOp around, const char *why, std::vector<diag::Remark> &remarks) {
  remarks.push_back({locationText(around.getLoc()), "pipeline",
                     std::string("each trip starts its first copies itself: ") + why});
}

} // namespace tegula::transforms
