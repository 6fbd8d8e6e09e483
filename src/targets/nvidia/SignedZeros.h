// Keeps choices between zeros from a fault of LLVM's.
#pragma once
#include "llvm/IR/Function.h"

namespace tegula::nvidia {

// LLVM's code generator takes `x < c ? x : c` for the machine's minimum if c is no NaN: but of equal zeros it
// is c, and the machine's minimum -0 (N10). Where that may differ the condition is turned around, `x >= c ? c
// : x` or unordered, which is left alone.
void keepSignsOfZeros(llvm::Function &function);

} // namespace tegula::nvidia
