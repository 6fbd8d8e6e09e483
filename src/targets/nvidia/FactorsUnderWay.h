// Registers of rows that a product under way reads, and other code too.
#pragma once
#include <string>
#include <string_view>

namespace tegula::nvidia {

// In: a PTX module as LLVM writes it, one instruction a line. Out: the same; where an instruction between a
// `wgmma.mma_async` and its wait touches a register of the product's rows, in code without a branch, the
// product reads a copy, which is made ahead of the fence in front of it. PTX forbids the access, be it a read
// (PTX ISA, "wgmma.mma_async"), and LLVM does not know: words of the next step may be computed from words of
// this one, and others read what a product reads.
std::string giveFactorsOwnRegisters(std::string_view ptx);

} // namespace tegula::nvidia
