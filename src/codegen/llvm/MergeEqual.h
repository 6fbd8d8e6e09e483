// Early common subexpressions in time that grows with the code.
#pragma once
#include "llvm/IR/PassManager.h"

namespace tegula::codegen {

// Folds what is simple by itself and removes what equals an operation that dominates it. LLVM's EarlyCSE does
// more: it also asks what branches say about an operand, for each of its uses, and replaces each use of a
// condition behind each branch on it. Both take time by the square of the code where many branches compare
// one value, such as the thread's index.
struct MergeEqual : llvm::PassInfoMixin<MergeEqual> {
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);
};

} // namespace tegula::codegen
