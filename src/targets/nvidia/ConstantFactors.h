// Keeps constant factors of products from a fault of the vendor's assembler.
#pragma once
#include "llvm/IR/Function.h"

namespace tegula::nvidia {

// A word of a product's factor that is a constant below zero as a number of 32 bits, a pair of 16-bit floats
// of which the upper one is negative, say, becomes one that the assembler cannot know. The assembler (12.8
// to 13.0 at least) keeps such a word with the uppermost bit turned and has the instruction negate it, which
// turns the sign of both floats of the pair. Run behind the optimizer, which finds constants.
void hideConstantFactors(llvm::Function &function);

} // namespace tegula::nvidia
