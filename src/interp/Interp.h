// The reference: runs tile IR as written, op by op, tile by tile, program after program.
// Simple and exact; the meaning of every op. Shares no analysis and no arithmetic with any
// target: small floats by APFloat, transcendental functions in f64 rounded once.
#pragma once
#include "base/Status.h"
#include "runtime/Launch.h"

#include "mlir/IR/BuiltinOps.h"

namespace tegula::interp {

// Runs the one tt.func of `module` over `grid`. `arguments` as in runtime::CpuEntry.
// Memory is the process's own: an access outside of a buffer is the kernel's fault.
// Errors: Unsupported with the op's name and place; Resource past `maxOps` executed ops
// (0: no limit).
Status run(mlir::ModuleOp module, std::span<const uint64_t> arguments, const runtime::Grid &grid,
           uint64_t maxOps = 0);

} // namespace tegula::interp
