// Conditions under which a thread's accesses of memory happen, one for each of its elements.
#pragma once
#include "llvm/IR/Function.h"

namespace tegula::nvidia {

// A thread has seven registers for conditions, and the masks of a tile are made op by op: all elements'
// comparisons of one bound, then those of the next. Where a block has more accesses than that, the assembler
// packs conditions into bits of a word and takes them out again, three instructions for each. So what several
// accesses share of their masks, conditions of rows, columns and the loop, is conjoined once, and what is an
// access's own is made directly ahead of it. Windows of an image in 64 bits took 528 of 682 instructions a
// trip by the latter alone.
void makeMasksAtAccesses(llvm::Function &function);

} // namespace tegula::nvidia
