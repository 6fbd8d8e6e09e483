// Shared memory of a simt kernel: where the scratch of each op lies, and where the warps must meet.
#pragma once
#include "base/Status.h"
#include "ir/simt/Costs.h"

#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/DenseSet.h"

namespace tegula::transforms {

// Gives each buffer (`simt.alloc`) and each op that needs scratch (`simt.scratch`) an offset, by live ranges,
// and the module `simt.shared_bytes`. Scratch of consecutive ops lies in different places where that is
// cheap, so that one can write while warps still read the other's. Conversions happen in rounds where they
// would not fit. Resource, with the table of buffers and a
// number of stages that fits: more than `limit` bytes.
Status allocateShared(mlir::ModuleOp module, uint64_t limit, const simt::Costs &costs);

// The bytes that allocateShared would take if the ops `without` needed no scratch.
uint64_t sharedBytesNeeded(mlir::ModuleOp module, uint64_t limit, const simt::Costs &costs,
                           const llvm::DenseSet<mlir::Operation *> &without);

// Puts a `simt.barrier` in front of each op that touches shared memory which other warps may still be
// reading, or have written since the last meeting. Every op with scratch writes it, meets, and reads it.
// Copies that are under way are in nobody's way until an `async_wait`, behind which what they wrote is there
// for the thread itself alone. Accesses of global memory through one argument, of which one stores, wait for
// each other unless each thread meets only its own elements (memory model, M1, M2, M12).
void insertBarriers(mlir::ModuleOp module);

} // namespace tegula::transforms
