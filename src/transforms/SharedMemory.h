// Shared memory of a simt kernel: where the scratch of each op lies, and where the warps must meet.
#pragma once
#include "base/Status.h"

#include "mlir/IR/BuiltinOps.h"

namespace tegula::transforms {

// Gives each op that needs scratch an offset (`simt.scratch`) and the module `simt.shared_bytes`.
// Consecutive ops get different places where that is cheap, so that one can write while warps still
// read the other's. Resource, with the table of buffers: more than `limit` bytes.
Status allocateShared(mlir::ModuleOp module, uint64_t limit);

// Puts a `simt.barrier` in front of each op whose scratch some warp may still be reading. Every op
// with scratch writes it, meets, and reads it: of what lies before, only the reads since the last
// meeting can be in the way. Accesses of global memory through one argument, of which one
// stores, wait for each other unless each thread meets only its own elements (memory model, M1, M2, M12).
void insertBarriers(mlir::ModuleOp module);

} // namespace tegula::transforms
