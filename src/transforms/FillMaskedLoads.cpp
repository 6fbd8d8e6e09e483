#include "transforms/FillMaskedLoads.h"
#include "ir/tile/Tile.h"
#include "transforms/ProductLoops.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {

namespace {

bool isZero(Value value) { return matchPattern(value, m_Zero()) || matchPattern(value, m_AnyZeroFloat()); }

// Vectors are small enough to wait in registers, and their fill is the load's.
bool isFilledTile(LoadOp load) {
  auto type = dyn_cast<RankedTensorType>(load.getType());
  return type && type.getRank() > 1 && load.getMask() && load.getOther() && !isZero(load.getOther()) &&
         !load.getIsVolatile() && type.getElementType().isIntOrFloat() && !type.getElementType().isInteger(1);
}

} // namespace

void fillMaskedLoads(Operation *function) {
  for (scf::ForOp loop : innermostLoopsOfDots(function))
    for (LoadOp load : llvm::make_early_inc_range(loop.getBody()->getOps<LoadOp>())) {
      if (!isFilledTile(load) || !loop.isDefinedOutsideOfLoop(load.getOther()))
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

} // namespace tegula::transforms
