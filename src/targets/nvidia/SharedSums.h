// Sums of the same numbers, which differ by constants.
#pragma once
#include "llvm/IR/Function.h"

namespace tegula::nvidia {

// The distance of a row and a column is the same for many elements of a tile: row 8 and column 9 are as far
// apart as row 0 and column 1. A thread computes it from the place of each, which are a number of its own and
// a constant of the register, so that nothing looks equal. Where integers of a block are sums of the same
// numbers, and some of the same constant, too, they become one sum of these numbers and a constant each. What
// is computed of equal ones is equal then, for those who look. Sums wrap, so that any order gives the same.
//
// Many sums that a loop compares or makes floats of are kept from LLVM's loop strength reduction, too: it
// takes each for a variable of the loop, and time that grows with the square of their number.
void shareSums(llvm::Function &function);

} // namespace tegula::nvidia
