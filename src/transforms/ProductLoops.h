// Finds the loops that products are made in.
#pragma once
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tegula::transforms {

// The innermost loops of a function that have a `tile.dot`, in the order of the walk.
llvm::SmallVector<mlir::scf::ForOp> innermostLoopsOfDots(mlir::Operation *function);

} // namespace tegula::transforms
