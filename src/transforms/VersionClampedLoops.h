// Offsets that `where` or `minimum` keeps inside of a matrix, and loops of products that load through them.
#pragma once
#include "diag/Remark.h"

#include "mlir/IR/Operation.h"

#include <optional>
#include <vector>

namespace tegula::transforms {

// Of an op on a tile of integers of one dimension that gives an operand unless some element is out of bounds:
// the number of that operand.
std::optional<unsigned> operandWithinBounds(mlir::Operation *op);

// `where(i < n, i, 0)` tears runs of neighbours apart, though only in the last tile: everywhere else all of
// `i` stay as they are. A loop of products whose loads would be wider without such clamps becomes two, chosen
// by whether all elements stay: one that loads by what was clamped, and the loop as it was (decision 13).
// Leaves a remark ("access") at the clamp. Other loops stay as they are.
void versionClampedLoops(mlir::Operation *function, std::vector<diag::Remark> &remarks);

} // namespace tegula::transforms
