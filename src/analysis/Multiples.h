// A number in a form that says what it is a multiple of: it is shifted to the right by bits that are 0, and
// back. So analyses need no promise beside the number, and it stays the one that it is.
#pragma once
#include "mlir/IR/Builders.h"

namespace tegula::analysis {

// Builds `integer`, of which the caller knows that `divisor`, a power of two, divides it, as such a multiple.
mlir::Value multipleOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value integer, uint64_t divisor);

// Returns the number that a value is as such a multiple, or the value itself.
mlir::Value withoutMultiple(mlir::Value value);

} // namespace tegula::analysis
