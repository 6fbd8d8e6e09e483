// Loops written with `while` that count.
#pragma once
#include "mlir/IR/Operation.h"

namespace tegula::transforms {

// `while i < n: ...; i += c` with an `n` that the loop does not change and a step known to be above zero, a
// constant, a number of programs, sums and products of such ones, becomes a `for` loop: passes that ask for
// the number of trips, and loads that run trips ahead, then work on it as on any other. So does `i <= n`, and
// `i > c` or `i >= c + 1; i -= step` of constants with c >= 0. A loop whose index would go past its bits, and
// on from the other end, ends there.
void countWhiles(mlir::Operation *function);

} // namespace tegula::transforms
