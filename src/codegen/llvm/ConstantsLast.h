// Sums whose constants are added last.
#pragma once
#include "llvm/IR/PassManager.h"

namespace tegula::codegen {

// `x + (y + 8)`, where `x` changes from trip to trip and `y` does not, becomes `(x + y) + 8`, if several such
// sums share `x + y`; `y + 8` may be widened, and is where there is no loop. So do products of them by
// constants. The rows that a thread reads or copies are such sums: one address is computed, from which the
// others are at distances that accesses have as immediates; and the rows do not stay in registers around the
// loop.
//
// Of 32 bits `x | (y | 8)`, where no two have a common bit, becomes `(x | y) | 8`, with or without an `x`; so
// do what such values are shifted by constants, and extended to 64 bits, as indices of memory are. Sums that
// may wrap stay: what is extended would be another number.
struct ConstantsLast : llvm::PassInfoMixin<ConstantsLast> {
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);
};

} // namespace tegula::codegen
