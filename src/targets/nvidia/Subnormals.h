// Keeps the care for subnormal numbers away from functions of numbers that are none.
#pragma once
#include "llvm/IR/Value.h"

namespace tegula::nvidia {

// Is the f32 known to be no subnormal number, whatever the kernel is given? Numbers of f16 and integers are
// none, nor are their sums and products, nor is what a constant like 1e-5 is added to.
bool isNeverSubnormal(const llvm::Value *value);

} // namespace tegula::nvidia
