// Loops whose loads run ahead of the matrix instructions that use them.
#pragma once
#include "diag/Remark.h"
#include "ir/simt/Machine.h"

#include "mlir/IR/Operation.h"

#include <vector>

namespace tegula::transforms {

// In simt: loads in the body of an innermost scf.for that are operands of dots with matrix instructions
// become asynchronous copies into a buffer of `stages` slots, started `stages` - 1 trips before their use;
// what the copies need is computed as early. A loop keeps its own number of stages where it has
// `tt.num_stages`. A product of several warps that only adds up may still run while the next trip begins: it
// has `simt.in_flight` then, and the buffer a slot more; or, where less programs would then run beside each
// other in the machine's shared memory, the copies start a trip later. So may the second of two products,
// whose first factor the trip computes from the first, where its sums leave no room for other programs. Loads
// under conditions, of addresses that the products themselves decide, or that a store of the loop could meet
// stay where they are; PlanCopies.h chooses. Appends a remark ("pipeline") for each loop that is rewritten
// and for each load that is left alone.
void pipelineLoops(mlir::Operation *function, unsigned stages, const simt::Machine &machine,
                   std::vector<diag::Remark> &remarks);

} // namespace tegula::transforms
