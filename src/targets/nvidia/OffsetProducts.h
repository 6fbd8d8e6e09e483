// Keeps the address arithmetic of loops of products out of the way of the tensor cores.
#pragma once
#include <string>
#include <string_view>

namespace tegula::nvidia {

// In: a PTX module as LLVM writes it, one instruction a line. Out: the same; where products of several warps
// run, each `mul.wide` by a power of two up to the end of the loops around the last of them is a conversion
// and a shift, on one line as before. The assembler makes one instruction (`IMAD.WIDE`) of such a product and
// an addition, in the loop if need be. It waits for the registers' ports, which the sums of the tensor cores
// take meanwhile: products of 128×128 blocks were 4 to 15 % slower.
std::string splitOffsetProducts(std::string_view ptx);

} // namespace tegula::nvidia
