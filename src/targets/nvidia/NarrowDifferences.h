// Keeps 16-bit subtractions from a fault of the vendor's assembler.
#pragma once
#include <string>
#include <string_view>

namespace tegula::nvidia {

// In: a PTX module as LLVM writes it, one instruction a line. Out: the same with each `neg.s16`, `sub.s16`
// and `abs.s16` computed in 32 bits and cut, on one line as before. The assembler (13.0 at least) takes 0 - x
// of 16 bits, also where it finds the 0 itself, for one that does not wrap: -(-32768) then is 32768 for what
// widens the result or shifts it to the right.
std::string widenNarrowDifferences(std::string_view ptx);

} // namespace tegula::nvidia
