#include "transforms/Ring.h"

#include "transforms/PredicateLoads.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {

Operation *runUnder(RewriterBase &rewriter, Operation *op, Value predicate) {
  rewriter.setInsertionPoint(op);
  auto both = [&](Value own) {
    return own ? Value(arith::AndIOp::create(rewriter, op->getLoc(), own, predicate)) : predicate;
  };
  if (auto copy = dyn_cast<simt::AsyncCopyOp>(op))
    copy.getPredicateMutable().assign(both(copy.getPredicate()));
  else if (auto copy = dyn_cast<simt::BulkCopyOp>(op))
    copy.getPredicateMutable().set(both(copy.getPredicate()));
  else if (auto arrive = dyn_cast<simt::SignalArriveOp>(op))
    arrive.getPredicateMutable().assign(both(arrive.getPredicate()));
  else if (auto arrive = dyn_cast<simt::SignalArriveWarpsOp>(op))
    arrive.getPredicateMutable().assign(both(arrive.getPredicate()));
  else if (auto wait = dyn_cast<simt::SignalWaitOp>(op))
    wait.getPredicateMutable().assign(both(wait.getPredicate()));
  else if (auto load = dyn_cast<LoadOp>(op))
    maskLoad(rewriter, load, predicate);
  return op; // others compute what nobody reads, or count groups
}

} // namespace tegula::transforms
