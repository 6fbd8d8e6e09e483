// Products by instructions of several warps, which read shared memory by themselves while the warps go on.
#pragma once
#include "diag/Remark.h"
#include "ir/simt/Machine.h"

#include "mlir/IR/Operation.h"

#include <vector>

namespace tegula::transforms {

// In simt: a dot whose matrix instruction is of several warps becomes `simt.dot_async` on the buffers that
// its operands would be loaded from, and `simt.dot_wait`: directly behind it, or, where it may still run when
// the next trip of its loop begins (`simt.in_flight`), behind the loop and for the group before it, or, with
// the first operand in registers, where the loop waits for its first product; groups of warps then start that
// first product in turn (ir/simt/Turns.h), where a barrier holds the trips together. One that its trip waits
// for starts ahead of the trip's copies and runs beside them, and so does the next one, if nothing of the
// first is read before. The first operand may be in registers. Where
// the second lies in no buffer, or in one in another form, or is stored anew between its load and the dot,
// the dot takes the instruction of one warp with the same layouts. Appends a remark ("dot") for each of
// those. Checks of the compiler's own become wordless where such a product is, unless the kernel prints or
// checks on its own, too.
void startDots(mlir::Operation *function, const simt::Machine &machine, std::vector<diag::Remark> &remarks);

} // namespace tegula::transforms
