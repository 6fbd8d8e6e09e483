// Removes computations that were made before with the same operands, and those that nobody uses.
#pragma once

namespace mlir {
class Operation;
}

namespace tegula::tile {

// In: an op that holds tile IR or simt, its regions of one block each. Out: in the same op, an op without
// memory effects that equals one in its block or in a block around it is replaced by that one; an op that
// only reads, if nothing in between may write and both are in one block. The time is in proportion to the
// number of ops: MLIR's pass of this purpose walks from the first of equal reads to each of the others, which
// is quadratic in a long block.
void eliminateEqualOps(mlir::Operation *root);

} // namespace tegula::tile
