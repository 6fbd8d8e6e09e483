// printf of the device: a format and arguments in the device's memory -> text. Reads only what the
// launch's buffers and the lane's local memory hold.
#pragma once
#include "ptxvm/exec/Warp.h"

namespace tegula::ptxvm {

// A zero-terminated string at a generic address; at most 4,096 characters.
std::string readString(Warp &warp, uint64_t address);
// `arguments`: the generic address of values laid out as in C: 4 or 8 bytes each, aligned so.
std::string formatPrintf(Warp &warp, unsigned lane, uint64_t format, uint64_t arguments);

} // namespace tegula::ptxvm
