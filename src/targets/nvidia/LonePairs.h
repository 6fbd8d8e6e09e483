// Keeps pairs of 8-bit floats from a fault of the vendor's assembler.
#pragma once
#include <string>
#include <string_view>

namespace tegula::nvidia {

// In: a PTX module as LLVM writes it, one instruction a line. Out: the same, but a conversion to a pair of
// 8-bit floats goes through a word of 32 bits, on one line as before, unless it is used once, as half of a
// word whose other half is such a pair, too. The assembler (13.0 at least) has conversions write into their
// half of a word, and ends with a segmentation fault where a pair is part of several words, or of one with an
// undefined half.
std::string separateLonePairs(std::string_view ptx);

} // namespace tegula::nvidia
