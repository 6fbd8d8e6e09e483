// Control flow and effects in the functions that reductions and scans apply to elements.
#pragma once
#include "ir/tile/Tile.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tegula::tile {

// Is there control flow, or an assertion or a print, in the body of a combine function? Then it cannot run op
// by op on many elements at once, and not on elements that are thrown away.
inline bool runsOneByOne(mlir::Region &combine) {
  return llvm::any_of(combine.front(), [](mlir::Operation &op) {
    return op.getNumRegions() != 0 || !mlir::isMemoryEffectFree(&op);
  });
}

} // namespace tegula::tile
