// Loops that only add up what reductions of their trips give: threads meet once, behind the loop.
#pragma once
#include "diag/Remark.h"

#include "mlir/IR/Operation.h"

#include <vector>

namespace tegula::transforms {

// `acc += sum(x)` in each trip of a loop, where nothing else reads `acc` there: each thread combines what it
// holds of the trips' `x` itself, and the reduction across lanes and warps happens once behind the loop.
// Likewise with max, min, products and bits, and for `acc = acc * scale + sum(x)`, where each thread scales
// its part; one scale for the whole tile also where the loop carries `acc` in another layout. Floats are
// added in another order by that (numerical contract, N26). Expects simt; appends a remark ("reduce").
void deferReductions(mlir::Operation *function, std::vector<diag::Remark> &remarks);

} // namespace tegula::transforms
