// The canonicalizer of all pipelines.
#pragma once

namespace mlir {
class Operation;
}

namespace tegula::tile {

// In: an op that holds tile IR or simt, isolated from above. Out: the same op, with the folds and patterns of
// its dialects applied until none applies, and carried values simplified (CarriedValues.h). MLIR's
// canonicalizer, but for patterns of `scf` that take time for all pairs of what a loop carries, or that are
// wrong.
void canonicalize(mlir::Operation *root);

} // namespace tegula::tile
