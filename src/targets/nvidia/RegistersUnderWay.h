// Keeps copies of registers away from products under way that have them.
#pragma once
#include <string>
#include <string_view>

namespace tegula::nvidia {

// In: a PTX module as LLVM writes it, one instruction a line. Out: the same; between a `wgmma.mma_async` and
// the `wgmma.wait_group 0` behind it no `mov` reads the product's sums or the registers of its rows, where
// that can be had in code without a branch. PTX forbids it (PTX ISA, "wgmma.mma_async"), and LLVM does not
// know: it copies registers wherever it assigns them.
//
// A copy that nobody reads until the wait stands behind it: of sums that trade places or begin anew in some
// trips, and of rows that are unpacked for the next trip. A copy of sums between the steps of a product, to
// registers in which the later steps add up, stands ahead of the first step, and all steps add up there:
// LLVM joins no more registers of one value in a block of hundreds.
std::string keepFromRegistersUnderWay(std::string_view ptx);

} // namespace tegula::nvidia
