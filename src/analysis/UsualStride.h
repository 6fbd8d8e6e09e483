// By how much a tile moves from one element to the next along a dimension, in most places.
#pragma once
#include "mlir/IR/Value.h"

#include <optional>

namespace tegula::analysis {

// Elements between most neighbours along `dim` (of pointers: of what they point to); nullopt: it is not
// known. Of a quotient it is a fraction, the mean: of `i // 8`, whose neighbours mostly share a word, 1/8; 0
// says that all are the same. Where a remainder wraps around, the next neighbour is elsewhere. So this says
// which order of a tile is fast, and nothing that code may rest on. Of indices from memory it is a guess,
// 2^20.
std::optional<double> usualStride(mlir::Value tile, unsigned dim);

} // namespace tegula::analysis
