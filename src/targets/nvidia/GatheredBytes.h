// Words that are made of bytes of several others.
#pragma once
#include "llvm/IR/Function.h"

namespace tegula::nvidia {

// A word of four bytes, of an 8-bit tile that changes its layout say, is made of the words that they come
// from by as few permutations (`prmt`) as there can be: one of two words, three of four; two, of which
// another one has the other bytes of the same four. LLVM takes each byte out and puts them together again.
// Run behind the optimizer, which folds the steps in between.
void gatherBytes(llvm::Function &function);

} // namespace tegula::nvidia
