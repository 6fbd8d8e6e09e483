// Loads ahead of a loop of products whose tiles are needed behind it.
#pragma once
#include "ir/simt/Machine.h"

#include "mlir/IR/Operation.h"

namespace tegula::transforms {

// A bias that is loaded ahead of a loop of products, and added behind it, would hold registers beside the
// sums of all trips. Where these are crowded the load moves behind the loop, with all that only it needs.
void sinkLoads(mlir::Operation *function, const simt::Machine &machine);

} // namespace tegula::transforms
