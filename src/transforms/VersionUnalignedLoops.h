// Strides, lengths and addresses that come from outside of a kernel, and loops of products that load by them.
#pragma once
#include "diag/Remark.h"

#include "mlir/IR/Operation.h"

#include <vector>

namespace tegula::transforms {

// Of an argument the launch says whether 16 or 8 divides it, but not whether 4 does, which is 16 bytes of
// f32, and not whether it is 1 where its type is written down; a signature may say nothing, and of a number
// in memory, as in a list of products, nobody does. A loop of products whose loads would be wider if such
// numbers were multiples of 16 bytes, or the innermost strides 1, becomes two, chosen by whether they are:
// one that knows it, and the loop as it was (decision 13). Leaves a remark ("access") at each such parameter
// or load of a number. Other loops stay as they are.
void versionUnalignedLoops(mlir::Operation *function, std::vector<diag::Remark> &remarks);

} // namespace tegula::transforms
