// Keeps constant factors of products from a fault of the vendor's assembler.
#pragma once
#include "llvm/IR/Function.h"

namespace tegula::nvidia {

// A constant word of a factor of an instruction of one warp becomes one that the assembler (12.8 to 13.0 at
// least) cannot know, where it gets it wrong. Run behind the optimizer, which finds constants.
// - Below zero as a number of 32 bits, a pair of 16-bit floats of which the upper one is negative, say: the
//   assembler keeps it with the uppermost bit turned and has the instruction negate it, which turns the sign
//   of both floats of the pair.
// - Of 8-bit floats: of a word of zeros the upper half became another constant.
void hideConstantFactors(llvm::Function &function);

} // namespace tegula::nvidia
