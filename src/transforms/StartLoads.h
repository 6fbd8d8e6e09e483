// Loads that stand behind conversions of what other loads bring.
#pragma once
#include "ir/simt/Machine.h"

#include "mlir/IR/Operation.h"

namespace tegula::transforms {

// A conversion through shared memory waits for the load it comes from, and the program's threads meet in it:
// no later load starts until then. Rewrites load, convert, load, convert as load, load, convert, convert, as
// long as few registers wait.
void startLoads(mlir::Operation *function, const simt::Machine &machine);

} // namespace tegula::transforms
