#include "transforms/RecomputeInTrips.h"
#include "ir/simt/Simt.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {

namespace {

// Is the op cheap, and a tile of it made of scalars and other cheap ones?
bool isCheap(Operation *op) {
  return isa<MakeRangeOp, SplatOp, ExpandDimsOp, BroadcastOp, TransOp, AddPtrOp, arith::ConstantOp,
             arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::CmpIOp, arith::AndIOp, arith::OrIOp,
             arith::XOrIOp, arith::ShLIOp, arith::SelectOp, arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp>(
             op) &&
         isa<RankedTensorType>(op->getResult(0).getType());
}

// From `first` to ahead of `end`, ops of one block.
void recompute(scf::ForOp loop, Block::iterator first, Block::iterator end) {
  llvm::DenseMap<Operation *, Operation *> copies; // of what stands ahead of the loop
  SmallVector<Operation *> work;
  for (auto op = first; op != end; ++op)
    work.push_back(&*op);
  for (Operation *here : work) {
    OpBuilder builder(here);
    std::function<void(OpOperand &)> replace = [&](OpOperand &operand) {
      Operation *from = operand.get().getDefiningOp();
      if (!from || loop->isAncestor(from) || !isCheap(from))
        return;
      Operation *&copy = copies[from];
      if (!copy) {
        Operation *made = builder.clone(*from);
        copies[from] = made;
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPoint(made);
        for (OpOperand &inner : made->getOpOperands())
          replace(inner);
        operand.set(made->getResult(0));
        return;
      }
      operand.set(copy->getResult(0));
    };
    here->walk([&](Operation *inner) {
      for (OpOperand &operand : inner->getOpOperands())
        replace(operand);
    });
  }
}

} // namespace

void recomputeInTrips(Operation *function) {
  SmallVector<scf::ForOp> loops;
  function->walk([&](scf::ForOp loop) {
    if (simt::isAroundProducts(loop))
      loops.push_back(loop);
  });
  for (scf::ForOp loop : loops) {
    Block::iterator first = loop.getBody()->begin();
    for (Operation &op : llvm::make_early_inc_range(*loop.getBody()))
      if (simt::hasProductLoop(&op)) {
        Block::iterator behind = std::next(Block::iterator(op));
        recompute(loop, first, behind);
        first = behind;
      }
    recompute(loop, first, std::prev(loop.getBody()->end()));
  }
}

} // namespace tegula::transforms
