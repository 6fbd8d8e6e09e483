// Simplifies what loops and branches hand on: initial values, what a body yields, results.
#pragma once

namespace mlir {
class Operation;
}

namespace tegula::tile {

// In: an op that holds tile IR or simt. Out: in the same op, for each loop and branch: an argument or result
// that is one value from outside, whatever way it takes, is that value; of those that are given the same
// values one is used; those without a use are gone, with the operands that gave them. Says whether there was
// any. One visit of a loop takes time in proportion to what it carries: MLIR's patterns of this purpose
// compare all pairs, each time that an op beside the loop changes.
bool simplifyCarriedValues(mlir::Operation *root);

} // namespace tegula::tile
