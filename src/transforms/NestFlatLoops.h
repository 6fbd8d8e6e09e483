// Loops over the trips of all tiles, as loops over tiles around loops over the trips of one.
#pragma once
#include "diag/Remark.h"

#include "mlir/IR/Operation.h"

namespace tegula::transforms {

// A persistent product is often written as one loop of `trips * tiles`, in which a number counts the trips of
// a tile: `if k == 0` says where the next tile lies, `if k == trips - 1` stores it. It becomes a loop over
// tiles, and in it one over their trips without these conditions: what stands under the first one is done
// ahead of the inner loop, what stands under the last one behind it.
void nestFlatLoops(mlir::Operation *function, std::vector<diag::Remark> &remarks);

} // namespace tegula::transforms
