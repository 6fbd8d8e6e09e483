// Findings and costs as text for a person and as a page.
#pragma once
#include "ptxvm/simulate/Costs.h"

#include <span>
#include <string>

namespace tegula::ptxvm {

std::string renderFindings(std::span<const Finding> findings);
std::string renderProfile(std::span<const KernelCosts> costs);
std::string renderHtml(std::span<const KernelCosts> costs, std::span<const Finding> findings);

// "12.5 %" of a total; "" for nothing.
std::string percent(uint64_t part, uint64_t total);
// What a line's accesses cost more than they must: "global 8.0 of 4.0 sectors a request, ...".
std::string remarksOf(const LineCosts &line);

} // namespace tegula::ptxvm
