// A kernel whose tiles are too large for the registers of its threads, as a loop over chunks of them.
#pragma once
#include "ir/simt/Machine.h"

#include "mlir/IR/Operation.h"

#include <optional>

namespace tegula::transforms {

// Rewrites a kernel that only streams (loads, stores, arithmetic, changes of shape that keep the axis which
// is cut, and reductions, scans and gathers along other axes; no control flow around tiles) when its largest
// tile is more than the registers of `threads` hold, leaves room for too few of them where much is computed,
// or when what is computed for scattered elements of it is more than they hold: one scf.for over chunks, cut
// along the axis that is least contiguous in memory. What all chunks share stays ahead of the loop. Nothing
// happens where a store could meet, in another chunk, what a load reads: loads through the argument of a
// store must be at the store's own addresses, and these proven to be all different. Returns the elements that
// a chunk has at most, or nothing if the function was not changed (decision 15).
std::optional<int64_t> chunkLargeTiles(mlir::Operation *function, int64_t threads,
                                       const simt::Machine &machine);

} // namespace tegula::transforms
