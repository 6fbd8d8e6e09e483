// Conditions that are the same in all trips of a loop.
#pragma once
#include "mlir/IR/Operation.h"

namespace tegula::transforms {

// In tile: an innermost loop without products of tiles, in whose trips an `if` writes memory under a
// condition from ahead of the loop (`if pid == 0: tl.store(…)`), becomes two, of which one runs. The one that
// does not write has nothing that loads of its next trips would have to wait for.
void unswitchLoops(mlir::Operation *function);

} // namespace tegula::transforms
