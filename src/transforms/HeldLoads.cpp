#include "transforms/HeldLoads.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {

HeldLoads::HeldLoads(scf::ForOp loop, const llvm::SetVector<Operation *> &ahead, ArrayRef<LoadOp> held,
                     unsigned aheadTrips)
    : body_(loop.getBody()), ahead_(ahead), aheadTrips_(aheadTrips) {
  llvm::SetVector<Operation *> loads(held.begin(), held.end());
  loads.remove_if([&](Operation *load) { return !isReadAtOnce(load); });
  for (bool isStable = false; !isStable;) {
    late_ = alone(loads);
    isStable = !loads.remove_if([&](Operation *load) { return handsOnTiles(load); });
  }
  for (Operation *load : loads)
    behind_[readers(load).back()].push_back(load);
}

SmallVector<Operation *> HeldLoads::behind(Operation *op) {
  SmallVector<Operation *> begun;
  for (Operation *load : behind_.lookup(op))
    begin(load, begun);
  return begun;
}

// Appends the op behind what it needs.
void HeldLoads::begin(Operation *op, SmallVector<Operation *> &begun) {
  if (!late_.contains(op) || !given_.insert(op).second)
    return;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (Operation *from = operand.getDefiningOp(); from && from->getBlock() == body_)
        begin(from, begun);
  });
  begun.push_back(op);
}

// The ops of the trip that compute with the result, in their order; views read nothing.
SmallVector<Operation *> HeldLoads::readers(Operation *op) const {
  SmallVector<Operation *> result;
  for (Operation *user : op->getUsers())
    if (isa<SplatOp, ExpandDimsOp, BroadcastOp, TransOp>(user))
      result.append(readers(user));
    else
      result.push_back(inTrip(user));
  llvm::sort(result, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return result;
}

// Is the result read by the trip itself, and by no product or exchange for one, nor on both sides of one?
bool HeldLoads::isReadAtOnce(Operation *load) const {
  SmallVector<Operation *> found = readers(load);
  if (found.empty() || isa<scf::YieldOp>(found.back()) ||
      llvm::any_of(load->getUsers(), [&](Operation *user) { return ahead_.contains(inTrip(user)); }))
    return false;
  for (Operation *op : found)
    if (auto convert = dyn_cast<simt::ConvertOp>(op); convert && !convert.isThroughShared())
      return false;
  for (Operation *op = found.front(); op != found.back()->getNextNode(); op = op->getNextNode())
    if (isa<DotOp>(op))
      return false;
  return true;
}

// The loads, and what runs ahead for them alone.
llvm::SetVector<Operation *> HeldLoads::alone(const llvm::SetVector<Operation *> &loads) const {
  llvm::SetVector<Operation *> result;
  for (Operation &op : llvm::reverse(body_->without_terminator()))
    if (loads.contains(&op) ||
        (ahead_.contains(&op) && !op.use_empty() &&
         llvm::all_of(op.getUsers(), [&](Operation *user) { return result.contains(inTrip(user)); })))
      result.insert(&op);
  return result;
}

// Would tiles have to be handed to the trip in which a late load begins, from the one in which others begin?
bool HeldLoads::handsOnTiles(Operation *op) const {
  return aheadTrips_ > 1 && llvm::any_of(op->getOperands(), [&](Value operand) {
           if (auto argument = dyn_cast<BlockArgument>(operand))
             return argument.getOwner() == body_ && isTile(operand);
           Operation *from = operand.getDefiningOp();
           if (!ahead_.contains(from))
             return false;
           return late_.contains(from) ? handsOnTiles(from) : isTile(operand);
         });
}

} // namespace tegula::transforms
