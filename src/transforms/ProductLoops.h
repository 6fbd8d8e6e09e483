// The loops that products are made in.
#pragma once
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tegula::transforms {

// The innermost loops of a function that have a `tile.dot`, in the order of the walk.
llvm::SmallVector<mlir::scf::ForOp> innermostLoopsOfDots(mlir::Operation *function);

// Is it an innermost loop without products?
bool isStream(mlir::scf::ForOp loop);
// Is it one whose user asks that its loads run ahead (`tl.range(..., num_stages=3)`)?
bool isStagedStream(mlir::scf::ForOp loop);

// The registers of a thread that a loop of simt takes at its fullest, about: for what it carries, and for the
// largest other result of a product.
unsigned heldByProducts(mlir::scf::ForOp loop);

// The same of the floats of its tiles where most of them are needed at once, in the order of its ops. Factors
// that lie in shared memory, or get there, are read next to their product.
unsigned mostHeldInTrip(mlir::scf::ForOp loop);

} // namespace tegula::transforms
