// Loops written with `while` that count.
#pragma once
#include "mlir/IR/Operation.h"

namespace tegula::transforms {

// `while i < n: ...; i += c` with a constant c above zero and an `n` that the loop does not change becomes a
// `for` loop: passes that ask for the number of trips, and loads that run trips ahead, then work on it as on
// any other.
void countWhiles(mlir::Operation *function);

} // namespace tegula::transforms
