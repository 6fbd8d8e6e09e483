// Accesses that other programs of the launch may meet while they run (memory model, M21): volatile loads, and
// the stores that may write what such a load of the kernel reads. Each element of theirs is one relaxed
// atomic access.
#pragma once
#include "ir/tile/Tile.h"

namespace tegula::tile {

// On a store; transforms/MarkVolatileStores puts it there.
inline constexpr llvm::StringLiteral volatileName = "tt.volatile";

inline bool isVolatile(mlir::Operation *op) {
  auto load = mlir::dyn_cast<LoadOp>(op);
  return load ? load.getIsVolatile() : op->hasAttr(volatileName);
}

} // namespace tegula::tile
