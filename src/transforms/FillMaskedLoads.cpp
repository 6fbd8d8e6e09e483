#include "transforms/FillMaskedLoads.h"
#include "ir/tile/Tile.h"
#include "transforms/ProductLoops.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {

namespace {

bool isZero(Value value) { return matchPattern(value, m_Zero()) || matchPattern(value, m_AnyZeroFloat()); }

// Beside products vectors are small enough to wait in registers, and their fill is the load's.
bool isFilledTile(LoadOp load, unsigned leastRank) {
  auto type = dyn_cast<RankedTensorType>(load.getType());
  return type && type.getRank() >= leastRank && load.getMask() && load.getOther() &&
         !isZero(load.getOther()) && !load.getIsVolatile() && type.getElementType().isIntOrFloat() &&
         !type.getElementType().isInteger(1);
}

void fillIn(scf::ForOp loop, unsigned leastRank) {
  for (LoadOp load : llvm::make_early_inc_range(loop.getBody()->getOps<LoadOp>())) {
    if (!isFilledTile(load, leastRank) || !loop.isDefinedOutsideOfLoop(load.getOther()))
      continue;
    OpBuilder builder(load);
    Value other = load.getOther();
    auto type = cast<RankedTensorType>(load.getType());
    auto zeros = DenseElementsAttr::get(type, builder.getZeroAttr(type.getElementType()));
    load.getOtherMutable().assign(arith::ConstantOp::create(builder, load.getLoc(), zeros));
    builder.setInsertionPointAfter(load);
    auto filled = arith::SelectOp::create(builder, load.getLoc(), load.getMask(), load.getResult(), other);
    load.getResult().replaceAllUsesExcept(filled, filled);
  }
}

} // namespace

void fillMaskedLoads(Operation *function) {
  for (scf::ForOp loop : innermostLoopsOfDots(function))
    fillIn(loop, 2);
  function->walk([](scf::ForOp loop) {
    if (isStagedStream(loop))
      fillMaskedLoadsOf(loop);
  });
}

void fillMaskedLoadsOf(scf::ForOp loop) { fillIn(loop, 1); }

} // namespace tegula::transforms
