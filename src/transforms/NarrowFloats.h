// Floats of 32 bits that hold numbers of 16.
#pragma once
#include "ir/simt/Machine.h"

#include "mlir/IR/Operation.h"

namespace tegula::transforms {

// Floats of 16 bits that are computed in f32, and become that type again, are computed in it where the bits
// are the same and the machine computes two such elements at once: sums, differences and products that are
// rounded (N9), extrema and choices, comparisons, and reductions by extrema. `tl.maximum` of bf16 gives f32,
// so that most kernels have some. Factors of matrix products that were widened to f32 are multiplied as what
// they were, or 8-bit floats as f16, where the machine has an instruction for that and they could be cut to
// tf32 (N15); an f32 factor beside one of bf16 becomes two of bf16.
void narrowFloats(mlir::Operation *function, const simt::Machine &machine);

} // namespace tegula::transforms
