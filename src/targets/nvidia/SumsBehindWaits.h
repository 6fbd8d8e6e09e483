// Keeps copies of a product's sums behind the wait for the product.
#pragma once
#include <string>
#include <string_view>

namespace tegula::nvidia {

// In: a PTX module as LLVM writes it, one instruction a line. Out: the same; copies between registers that
// stand directly ahead of a `wgmma.wait_group` stand directly behind it, in their order. A wait gives the
// sums, for LLVM, in the registers in which it took them: where a loop needs those for its next trip while
// the sums are still read, as of sums that trade places or begin anew in some trips, LLVM copies them ahead
// of the wait, and so reads registers of a product under way (PTX ISA, "wgmma.mma_async").
std::string copySumsBehindWaits(std::string_view ptx);

} // namespace tegula::nvidia
