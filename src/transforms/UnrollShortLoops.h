// Loops of a few short trips.
#pragma once
#include "ir/simt/Costs.h"

#include "mlir/IR/Operation.h"

namespace tegula::transforms {

// In simt: a loop whose number of trips is known becomes its trips one behind the other, if all of them
// together have no more instructions of a thread than `costs.unrolledWork`. Their loads then start together,
// and what follows from the number of a trip is computed while compiling. Loops of products, of copies and of
// chunks, and of atomics whose results a trip waits for, stay loops, as do those around such.
void unrollShortLoops(mlir::Operation *function, const simt::Costs &costs);

// The same in tile, before tiles have layouts, of loops that only load, store and compute element by element:
// layouts are then chosen for accesses that happen once, and not for a loop that would let the warps meet in
// each trip. `threads` share a tile's elements evenly.
void unrollElementwiseLoops(mlir::Operation *function, int64_t threads, const simt::Costs &costs);

} // namespace tegula::transforms
