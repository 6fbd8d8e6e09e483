#include "transforms/StandIns.h"
#include "ir/simt/Simt.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {

namespace {

constexpr size_t fewestOps = 8; // that are worth a branch

class StandIns {
public:
  explicit StandIns(Operation *function) : function_(function) {}

  void run() {
    llvm::MapVector<std::pair<Block *, Value>, SmallVector<Operation *>> copies;
    SmallVector<OpOperand *> unread;
    function_->walk([&](Operation *op) {
      if (auto box = dyn_cast<simt::BulkCopyOp>(op))
        unread.push_back(&box.getPointersMutable());
      auto copy = dyn_cast<simt::AsyncCopyOp>(op);
      if (copy && !copy.getElement().empty()) {
        unread.push_back(&copy.getPointersMutable());
        for (OpOperand &mask : copy.getMaskMutable())
          unread.push_back(&mask);
      } else if (copy) {
        Value fits = conditionOfBoxes(copy);
        if (fits && !isa<LoopLikeOpInterface>(fits.getParentBlock()->getParentOp()))
          copies[{fits.getParentBlock(), fits}].push_back(copy);
      }
    });
    for (OpOperand *operand : unread) {
      OpBuilder builder(operand->getOwner());
      operand->set(simt::AnyOp::create(builder, operand->getOwner()->getLoc(), operand->get().getType()));
    }
    // Those who use a value first: an expression may be as deep as the program is long.
    if (!copies.empty())
      function_->walk<WalkOrder::PreOrder, ReverseIterator>([&](Operation *op) {
        if (isMovable(op))
          onlyFor(op);
      });
    for (auto &[place, those] : copies)
      sink(place.first, place.second, those);
  }

private:
  // Returns the condition of the copies that alone need what the op computes; null: others do.
  Value onlyFor(Operation *op) {
    if (auto known = only_.find(op); known != only_.end())
      return known->second;
    Value result;
    bool isFirst = true;
    for (Operation *user : op->getUsers()) {
      Value of;
      if (auto copy = dyn_cast<simt::AsyncCopyOp>(user))
        of = conditionOfBoxes(copy);
      else if (isMovable(user))
        of = onlyFor(user);
      if (!of || (!isFirst && of != result))
        return only_[op] = Value();
      result = of;
      isFirst = false;
    }
    return only_[op] = result;
  }

  static bool isMovable(Operation *op) {
    return op->getNumRegions() == 0 && op->getNumResults() == 1 && isMemoryEffectFree(op) &&
           isa<RankedTensorType>(op->getResult(0).getType()) && !isa<simt::AnyOp>(op);
  }

  // Those that the block computes ahead of the copies move into a branch there.
  void sink(Block *block, Value fits, ArrayRef<Operation *> copies) {
    Operation *first = nullptr; // of the block, that copies or has copies in it
    for (Operation *copy : copies) {
      Operation *here = block->findAncestorOpInBlock(*copy);
      if (!first || here->isBeforeInBlock(first))
        first = here;
    }
    llvm::SetVector<Operation *> moved;
    for (Operation &op : *block) {
      if (&op == first)
        break;
      if (isMovable(&op) && onlyFor(&op) == fits)
        moved.insert(&op);
    }
    if (moved.size() < fewestOps)
      return;
    SmallVector<Value> results;
    for (Operation *op : moved)
      if (llvm::any_of(op->getUsers(), [&](Operation *user) { return !moved.contains(user); }))
        results.push_back(op->getResult(0));
    OpBuilder builder(first);
    Location loc = first->getLoc();
    Value yes = arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
    Value standsIn = arith::XOrIOp::create(builder, loc, fits, yes);
    auto branch =
        scf::IfOp::create(builder, loc, TypeRange(ValueRange(results)), standsIn, /*withElseRegion=*/true);
    for (auto [value, result] : llvm::zip(results, branch.getResults()))
      value.replaceUsesWithIf(result, [&](OpOperand &use) { return !moved.contains(use.getOwner()); });
    for (Operation *op : moved)
      op->moveBefore(branch.thenBlock(), branch.thenBlock()->end());
    builder.setInsertionPointToEnd(branch.thenBlock());
    scf::YieldOp::create(builder, loc, results);
    builder.setInsertionPointToEnd(branch.elseBlock());
    SmallVector<Value> others;
    for (Value result : results)
      others.push_back(simt::AnyOp::create(builder, loc, result.getType()));
    scf::YieldOp::create(builder, loc, others);
  }

  Operation *function_;
  llvm::DenseMap<Operation *, Value> only_; // null: it is not
};

} // namespace

Value conditionOfBoxes(simt::AsyncCopyOp copy) {
  SmallVector<Value> work;
  if (copy.getPredicate())
    work.push_back(copy.getPredicate());
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (auto both = dyn_cast_or_null<arith::AndIOp>(op))
      work.append({both.getLhs(), both.getRhs()});
    else if (auto flip = dyn_cast_or_null<arith::XOrIOp>(op); flip && matchPattern(flip.getRhs(), m_One()))
      return flip.getLhs();
  }
  return Value();
}

void sinkStandIns(Operation *function) { StandIns(function).run(); }

} // namespace tegula::transforms
