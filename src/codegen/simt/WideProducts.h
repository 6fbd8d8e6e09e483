// A product of 32-bit numbers of which both halves are wanted, in one 64-bit product: Philox
// computes twenty of them a call, and one wide product costs as much as either half. Run behind the
// optimizer, which turns the lower half of a wide product into a product of its own.
#pragma once
#include "llvm/IR/Function.h"

namespace tegula::simt {

void shareWideProducts(llvm::Function &function);

} // namespace tegula::simt
