// Floats of 32 bits that hold numbers of 16.
#pragma once
#include "ir/simt/Machine.h"

#include "mlir/IR/Operation.h"

namespace tegula::transforms {

// Floats of 16 bits that are computed in f32, and become that type again, are computed in it where the bits
// are the same and the machine computes two such elements at once: sums, differences and products that are
// rounded (N9), extrema and choices, comparisons, and reductions by extrema. `tl.maximum` of bf16 gives f32,
// so that most kernels have some.
void narrowFloats(mlir::Operation *function, const simt::Machine &machine);

} // namespace tegula::transforms
