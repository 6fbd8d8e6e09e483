// Atomic sums of floats that no program can wait for.
#pragma once
#include "mlir/IR/Operation.h"

namespace tegula::transforms {

// In tile IR: an `atomic_add` of a tile of floats that orders what is around it (`acq_rel`, the default)
// orders nothing any more (`relaxed`), where no program of the launch can see what it wrote in a way that
// acquires: nobody wants what was there, and no other atomic of the kernel, volatile load or op of unknown
// effects may touch the memory. Nothing in the launch can tell the difference (memory model, M19); warps need
// not meet around the sum, and a thread need not wait for its stores. Not `release` and `acquire`, which a
// kernel asks for by name, nor the scope `sys`, whose others are no programs of the launch; not integers and
// scalars, which another launch may wait for.
void relaxSums(mlir::Operation *function);

} // namespace tegula::transforms
