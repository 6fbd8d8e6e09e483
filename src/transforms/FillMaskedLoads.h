// Masked elements of tiles that a loop loads which copies them ahead.
#pragma once
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tegula::transforms {

// Copies fill with zeros. `load(p, mask, other=-inf)` of a tile in a loop of products, or in one with
// `num_stages` of its own, becomes a load that is zero where the mask is false, and a choice behind it: so it
// can be copied trips ahead.
void fillMaskedLoads(mlir::Operation *function);

// The same of one loop without products, whose loads of any rank are copied.
void fillMaskedLoadsOf(mlir::scf::ForOp loop);

} // namespace tegula::transforms
