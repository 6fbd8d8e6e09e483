// The ops that work element by element.
#pragma once
#include "ir/tile/Tile.h"

namespace tegula::tile {

// Does the op compute each element of its results from the elements of its operands at the same coordinates?
inline bool isElementwise(mlir::Operation *op) {
  return op->hasTrait<mlir::OpTrait::Elementwise>() || mlir::isa<mlir::arith::SelectOp>(op);
}

} // namespace tegula::tile
