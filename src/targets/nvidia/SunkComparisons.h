// Comparisons of many elements that another block needs.
#pragma once
#include "llvm/IR/Function.h"

namespace tegula::nvidia {

// A thread has seven registers for conditions. Where a block makes more of them than that for another block,
// as a mask ahead of copies under a condition does, the assembler packs them into bits of a word and takes
// them out again: three instructions for each. Such comparisons move to the block that needs them, if one
// does and its trips are as many, with the sums of constants that they compare and the constants that they
// choose.
void sinkComparisons(llvm::Function &function);

} // namespace tegula::nvidia
