// Loops whose loads run ahead of the matrix instructions that use them.
#pragma once
#include "mlir/IR/Operation.h"

#include <functional>
#include <string>

namespace tegula::transforms {

// In simt: loads in the body of an innermost scf.for that are operands of dots with matrix instructions become
// asynchronous copies into a buffer of `stages` slots, started `stages` - 1 trips before their use; what the copies
// need is computed as early. A loop keeps its own number of stages where it has `tt.num_stages`. Loads under
// conditions, of addresses that the products themselves decide, or that a store of the loop could meet stay
// where they are. `tell` gets the place and one line about each loop with dots, and each load left alone.
using TellLoop = llvm::function_ref<void(mlir::Location, std::string text)>;
void pipelineLoops(mlir::Operation *function, unsigned stages, TellLoop tell);

} // namespace tegula::transforms
