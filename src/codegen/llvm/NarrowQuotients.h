// Choices between, and remainders of, quotients that were divided in 32 bits.
#pragma once
#include "llvm/IR/PassManager.h"

namespace tegula::codegen {

// Goes behind CorrelatedValuePropagation, which divides in 32 bits what has no more: choices between such a
// quotient and the ones that divisors of 0 and of -1 give (Arithmetic.cpp), and remainders of such quotients,
// are computed in 32 bits, too. What multiplies them then is a product of 32 bits.
struct NarrowQuotients : llvm::PassInfoMixin<NarrowQuotients> {
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);
};

// Goes ahead of CorrelatedValuePropagation: dividends of remainders are those that the code had before
// InstCombine made remainders of differences. It freezes them, for they are read once in place of twice, and
// of what is frozen the pass knows no range.
struct ThawDividends : llvm::PassInfoMixin<ThawDividends> {
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);
};

} // namespace tegula::codegen
