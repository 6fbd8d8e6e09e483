// Loops around loops of products compute their small tiles in each trip.
#pragma once
#include "mlir/IR/Operation.h"

namespace tegula::transforms {

// In simt, for loops around loops of products that run by themselves: coordinates, masks and addresses that
// are made of ranges and scalars ahead of such a loop are computed again in its trips, ahead of a loop of
// products and behind it. The sums of the products leave no registers for what waits for the trip's end.
void recomputeInTrips(mlir::Operation *function);

} // namespace tegula::transforms
