// Starts the steps of a product as soon as the words of their rows are there.
#pragma once
#include "llvm/IR/Function.h"

namespace tegula::nvidia {

// Puts what a product of several warps takes from registers into the order in which its steps need it: first
// the sums, then for each step the rows that it multiplies, and the step. The tensor cores then multiply by
// the first columns of a softmax while the warp computes the others. Op by op, as it was emitted, all
// exponentials come ahead of the first step. What ends the life of a value follows at once, so that no more
// registers are held than before. Only computations between two effects move.
void orderProductSteps(llvm::Function &function);

} // namespace tegula::nvidia
