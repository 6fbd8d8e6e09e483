// Keeps what was computed from sums ahead of a product from a fault of the vendor's assembler.
#pragma once
#include "llvm/IR/Function.h"

namespace tegula::nvidia {

// Sums from which something was computed that is still needed behind their product go into registers of
// their own ahead of it. A product of several warps changes its sums in place. Where their register has other
// definitions, as behind or in a loop, the assembler (13.0 at least) takes what was computed from it ahead of
// the product for the same computation behind it: of `x = f(sums); sums = dot(a, b, sums); y = f(sums)` each
// use of x behind y reads y. Behind a loop the copy costs nothing, as the sums themselves are needed no more;
// in a loop the assembler moves them.
void copyKeptSums(llvm::Function &function);

} // namespace tegula::nvidia
