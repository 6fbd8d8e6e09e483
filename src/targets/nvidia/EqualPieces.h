// Keeps pieces of a product that multiply the same rows from a fault of the vendor's assembler.
#pragma once
#include "llvm/IR/Function.h"

namespace tegula::nvidia {

// A program of four warps multiplies more than 64 rows in several pieces. Where the rows of two of them are
// the same words, of one row that is repeated, say, the words of the later piece become ones that the
// assembler (13.0 at least) cannot know. It made one of such pieces, and the sums of the other were not
// always written. So does each word that is a constant: such words are made anew for a piece, in registers
// from which the piece before is still read. Run behind the optimizer, which finds what is constant and what
// is equal.
void separateEqualPieces(llvm::Function &function);

} // namespace tegula::nvidia
