// Loops of products that are unrolled because their user asks for it.
#pragma once
#include "ir/simt/Machine.h"

#include "mlir/IR/Operation.h"

namespace tegula::transforms {

// In tile: an innermost loop of products with `loop_unroll_factor` takes as many trips at once, if their
// copies are few bytes (`unrolledBytes`): where shared memory then leaves programs out, it is slower. Its
// loads run ahead at least as many trips as `stages` ask. The last trips, fewer than the factor, load nothing
// ahead.
void unrollAsAsked(mlir::Operation *function, unsigned stages, const simt::Machine &machine);

} // namespace tegula::transforms
