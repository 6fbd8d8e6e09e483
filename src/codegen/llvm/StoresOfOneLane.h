// Masked stores that write one element.
#pragma once
#include "llvm/IR/PassManager.h"

namespace tegula::codegen {

// A masked store whose mask is a constant with one lane becomes a store of that element. For processors with
// AVX-512 LLVM 22.1 stores, of a vector that is narrowed for it, the element as it was before: a byte of 32
// bits overwrites the three behind it.
struct StoresOfOneLane : llvm::PassInfoMixin<StoresOfOneLane> {
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);
};

} // namespace tegula::codegen
