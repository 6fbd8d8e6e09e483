// Masked loads and stores some of whose lanes are known to be off.
#pragma once
#include "llvm/IR/PassManager.h"

namespace tegula::codegen {

// A masked load or store becomes accesses of the pieces in which some lane may be on: of powers of two lanes,
// none of which has a half, quarter and so on that is known to be off. A piece whose lanes are all on has no
// mask; of one lane that is on it is a scalar. What is off keeps the load's other values.
//
// LLVM 22.1 gets such masks wrong. For processors with AVX-512 it stores one known lane of a vector that is
// narrowed for it as it was before, over its neighbours; for those with AVX2 it loads the half of a vector
// whose lanes are off without a mask, where the other half's are not known. The instruction selector knows
// more lanes than this pass: with `narrowsInStores`, as for AVX-512, what is narrowed for a masked store is
// hidden from it.
struct KnownLanes : llvm::PassInfoMixin<KnownLanes> {
  explicit KnownLanes(bool narrowsInStores = false) : narrowsInStores_(narrowsInStores) {}
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);

private:
  bool narrowsInStores_;
};

} // namespace tegula::codegen
