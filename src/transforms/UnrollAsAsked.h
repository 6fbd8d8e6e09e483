// Loops of products that are unrolled because their user asks for it.
#pragma once
#include "ir/simt/Machine.h"

#include "mlir/IR/Operation.h"

namespace tegula::transforms {

// In tile: an innermost loop of products with `loop_unroll_factor` takes as many trips at once, if what they
// load fits into shared memory as often as the loop has `stages`. What is left over is a loop that loads
// nothing ahead.
void unrollAsAsked(mlir::Operation *function, unsigned stages, const simt::Machine &machine);

} // namespace tegula::transforms
