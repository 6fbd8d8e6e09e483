// Values that only a branch needs are computed there.
#pragma once
#include "llvm/IR/PassManager.h"

namespace tegula::codegen {

// Integers and addresses that are computed ahead of a branch, and used in one block behind it alone, move
// into that block. The code generator would move them, too, but later: it finds constant distances of
// addresses, which accesses have as immediates, only in the block of the access.
struct SinkIntoBranches : llvm::PassInfoMixin<SinkIntoBranches> {
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);
};

} // namespace tegula::codegen
