// One `if` of several that follow each other and ask the same.
#pragma once
#include "llvm/IR/PassManager.h"

namespace tegula::codegen {

// Joins each `if` without `else` with those behind it that branch on the same value, if nothing is between
// them. Prints and checks of one tile are such a row. SimplifyCFG does it, too, but moves all edges to the
// end of the row at each step, and so takes time by the square of its length.
struct JoinIfs : llvm::PassInfoMixin<JoinIfs> {
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);
};

} // namespace tegula::codegen
