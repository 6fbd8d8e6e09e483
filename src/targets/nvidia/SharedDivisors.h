// Divisions by one number, which a row of a tile shares.
#pragma once
#include "llvm/IR/Function.h"

namespace tegula::nvidia {

// Divisions of a block by the same number compute its reciprocal once. The assembler writes out div.full as
// six instructions: where the divisor is very large or small it scales both, then multiplies by the
// reciprocal. It shares the divisor's part by itself and leaves three multiplications for each dividend.
// Here these are two, with the same bits, and the assembler has less to read. A divisor of its own that is 1
// plus what is not negative, as a sigmoid's is, is written out, too: it is never small, and needs no
// question.
void shareDivisors(llvm::Function &function);

} // namespace tegula::nvidia
