// A kernel whose tiles are too large for the registers of its threads, as a loop over chunks of them.
#pragma once
#include "mlir/IR/Operation.h"

namespace tegula::transforms {

// Rewrites a kernel that only streams (loads, stores, arithmetic, changes of shape but reshapes, and
// reductions over the axes that are not cut; no control flow around tiles) when its largest tile has more
// than `most` elements: one scf.for over chunks of at most `chunk` elements, cut along the axis that is least
// contiguous in memory. What all chunks share stays ahead of the loop. Nothing happens where a store could
// meet, in another chunk, what a load reads: loads through the argument of a store must be at the store's own
// addresses, and these proven to be all different. Returns true if the
// function was changed (decision 15).
bool chunkLargeTiles(mlir::Operation *function, int64_t most, int64_t chunk);

} // namespace tegula::transforms
