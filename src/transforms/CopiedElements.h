// A copy of a tile in shared memory, element by element, for one that hardly ever happens.
#pragma once
#include "ir/simt/Simt.h"

#include "mlir/IR/Builders.h"

namespace tegula::transforms {

// Gives the copy the function that computes an element's address and mask of its coordinates. False, and
// nothing is changed: they are not made of ranges, scalars and arithmetic, or a row has more copies than the
// program has threads.
bool describeElements(mlir::OpBuilder &builder, simt::AsyncCopyOp copy);

} // namespace tegula::transforms
