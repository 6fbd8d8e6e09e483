// One division in place of several whose dividends are equal sums.
#pragma once
#include "llvm/IR/PassManager.h"

namespace tegula::codegen {

// Divides a number that was divided before wherever a dividend is the same sum of the same values, in another
// order: of windows that overlap and wrap around, `(x + 2) - 1` is the neighbour's `x + 1`. Goes behind a
// pass that makes equal instructions one, and ahead of another, which makes the divisions one. Other code
// stays as it is. On NVIDIA GPUs all equal sums of one block are one before (targets/nvidia/SharedSums.h);
// these may stand in several, as a check of an address lies between them.
struct ShareDividends : llvm::PassInfoMixin<ShareDividends> {
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);
};

} // namespace tegula::codegen
