// Facts about neighbours in the result of an elementwise op, so that a thread computes once what is the same.
// Attributes of ops, each a number for every dimension: the size of groups of neighbours, a power of two,
// that start at multiples of their size.
#pragma once
#include "ir/simt/Simt.h"

namespace tegula::simt {

// The elements of a group are equal, though the operands' are not.
inline constexpr llvm::StringLiteral equalName = "simt.equal";
// Of a signed division or a remainder: the dividends of a group count up by one from a multiple of its size;
// the divisor is the same for all of them, and a multiple of the size, too. The quotients are equal then,
// except where the first dividend is a negative multiple of the divisor.
inline constexpr llvm::StringLiteral countedName = "simt.counted";

} // namespace tegula::simt
