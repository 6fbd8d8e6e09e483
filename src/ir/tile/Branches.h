// Control flow in the functions that reductions and scans apply to elements.
#pragma once
#include "ir/tile/Tile.h"

namespace tegula::tile {

// Is there control flow in the body of a combine function? Then it cannot run op by op on many elements at
// once.
inline bool hasBranches(mlir::Region &combine) {
  return llvm::any_of(combine.front(), [](mlir::Operation &op) { return op.getNumRegions() != 0; });
}

} // namespace tegula::tile
