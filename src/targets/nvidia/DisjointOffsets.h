// Offsets of a thread's elements that LLVM has merged with its index.
#pragma once
#include "llvm/IR/Function.h"

namespace tegula::nvidia {

// An element's offset is the thread's part and a constant of the register, which share no bits, so that their
// `or` is a sum, and all of a thread's elements have one address and constants. Where the constant has the
// bit next to those that the thread's part is masked for, LLVM drops the mask: (tid & 31) | 32 is tid | 32 of
// 64 threads. That is no sum; each such element had an address of its own in registers of 64 bits. Brings the
// mask back, as (tid & ~32) | 32.
void separateOffsets(llvm::Function &function);

} // namespace tegula::nvidia
