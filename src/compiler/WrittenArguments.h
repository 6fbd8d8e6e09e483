// Which pointer arguments a kernel may store through: those from which the address of a
// store or of an atomic is computed. May say too many (two pointers that meet in one
// value), never too few, but for addresses made from integers.
#pragma once
#include "mlir/IR/Operation.h"

#include <vector>

namespace tegula::compiler {

// One flag an argument of `function`.
std::vector<bool> writtenArguments(mlir::Operation *function);

} // namespace tegula::compiler
