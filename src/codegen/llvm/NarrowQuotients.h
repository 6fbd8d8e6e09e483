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

} // namespace tegula::codegen
