// A kernel whose tiles are too large for the registers of its threads, as a loop over chunks of them.
#pragma once
#include "mlir/IR/Operation.h"

namespace tegula::transforms {

// Rewrites a kernel that only streams (loads, arithmetic and stores of tiles of one dimension and one extent,
// element by element, no reductions, no control flow around tiles) when its tiles have more than `most`
// elements: one scf.for over chunks of `chunk` elements, which divides the extent. Nothing happens where
// a store could meet, in another chunk, what a load reads: loads through the argument of a store must be
// at the store's own addresses. Tells whether it did anything.
bool chunkLargeTiles(mlir::Operation *function, int64_t most, int64_t chunk);

} // namespace tegula::transforms
