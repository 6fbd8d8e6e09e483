// Which pointer arguments a kernel may store through: those that the address of a store or of an atomic may
// be derived from. May name too many (two pointers that meet in one value), never too few. A pointer that
// comes out of memory, or an integer taken for one, is no argument: what lies behind it is the caller's.
#pragma once
#include "mlir/IR/Operation.h"

#include <vector>

namespace tegula::compiler {

// One flag an argument of `function`.
std::vector<bool> writtenArguments(mlir::Operation *function);

} // namespace tegula::compiler
