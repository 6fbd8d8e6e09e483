// Comparisons of one number with the places of a thread's elements.
#pragma once
#include "llvm/IR/Function.h"

namespace tegula::nvidia {

// A row that is compared with one number (`cols == label`, as losses have it) asks of each element whether
// `x + c == y`, for constants c. Those of a block that differ in c alone become comparisons of the one
// difference y - x with constants of 32 bits. LLVM would otherwise turn them in loops into x == y - c and
// hold all y - c around the loop, 64 registers for 32 elements of 64 bits.
void shareComparisons(llvm::Function &function);

} // namespace tegula::nvidia
