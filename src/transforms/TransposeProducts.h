// Products that are read transposed are computed transposed.
#pragma once
#include "diag/Remark.h"

#include "mlir/IR/Operation.h"

#include <vector>

namespace tegula::transforms {

// Computes bᵀ·aᵀ in place of a·b where all that reads the product works element by element, reduces it, or
// transposes it, and a transposed value is the first factor of another product. That factor then stays in the
// registers that the first product left it in, as the probabilities of attention do. Also where the
// transposed product is added to something, say, and no load or reduction has to change its dimensions for
// it: the sum lies as the instruction leaves it. Factors have 16 bits. `warps`: of a program; a product keeps
// as many rows as they want.
void transposeProducts(mlir::Operation *function, unsigned warps, std::vector<diag::Remark> &remarks);

} // namespace tegula::transforms
