// The memory that this process has mapped, as buffers: for launches whose pointers' extents nobody
// knows. Accesses inside are not checked further, accesses outside are findings, not crashes.
#pragma once
#include "ptxvm/Run.h"

namespace tegula::ptxvm {

std::vector<Buffer> mappedMemory();

} // namespace tegula::ptxvm
