// Programs that take longest start first.
#pragma once
#include "diag/Remark.h"

#include "mlir/IR/Operation.h"

#include <vector>

namespace tegula::transforms {

// Marks (`tt.longest_first`) a function whose loops get longer with the program's index along an axis, as
// those of causal attention do: the last programs of a launch are short then, and no multiprocessor works
// alone at its end. Programs that may wait for each other (atomics, volatile loads, code that the compiler
// cannot read) keep the machine's order.
void orderPrograms(mlir::Operation *function, std::vector<diag::Remark> &remarks);

} // namespace tegula::transforms
