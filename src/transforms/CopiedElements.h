// A copy of a tile to or from shared memory, element by element, for one that hardly ever happens.
#pragma once
#include "ir/simt/Simt.h"

#include "mlir/IR/Builders.h"

namespace tegula::transforms {

// Gives a copy, or store, from or to `pointers` where `mask` (or null) holds, the function that computes an
// element's address and mask of its coordinates. False, and nothing is changed: they are not made of ranges,
// scalars and arithmetic, or an extent is no power of two.
bool describeElements(mlir::OpBuilder &builder, mlir::Region &element, mlir::Value pointers,
                      mlir::Value mask);
bool canDescribeElements(mlir::Value pointers, mlir::Value mask); // would it?
bool describeElements(mlir::OpBuilder &builder, simt::AsyncCopyOp copy);

} // namespace tegula::transforms
