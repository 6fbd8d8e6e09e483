// The processor at hand in its own words, without a compiler.
#pragma once
#include <string>

namespace tegula::runtime {

// All that can decide about code for it: family and model, instructions, registers that the system saves,
// caches. Equal texts, equal code. Asked once, since each question may be a trap into a hypervisor.
const std::string &processorIdentity();

} // namespace tegula::runtime
