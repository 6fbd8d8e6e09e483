// Steps of constant strides, and which numbers they lead to.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace tegula::analysis {

// May `rest`, or less than an element more or less, be a sum of the steps, each up to its number of times in
// either direction? The largest stride comes first. A yes may be wrong.
bool isReachable(llvm::ArrayRef<std::pair<int64_t, int64_t>> steps, int64_t rest, int64_t elementBytes);

// Does each step go beyond all that the smaller ones reach? Within 31 bits, so that offsets which wrap stay
// apart. Sorts the steps.
bool areOneToOne(llvm::SmallVectorImpl<std::pair<uint64_t, uint64_t>> &steps);

} // namespace tegula::analysis
