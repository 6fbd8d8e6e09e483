// By how much a tile moves from one element to the next along a dimension, in most places.
#pragma once
#include "mlir/IR/Value.h"

#include <optional>

namespace tegula::analysis {

// Elements between neighbours along `dim`, as they mostly lie (of pointers: of what they point to); nullopt:
// it is not known. Where a quotient steps on, the next neighbour may be anywhere, which counts as a line of
// the cache at the most: of `i // 8`, whose neighbours mostly share a word, this is 1/8, of `i // 8 * stride`
// 4; 0 says that all are the same. So this says which order of a tile is fast, and nothing that code may rest
// on. Of indices from memory it is a guess, 2^20.
std::optional<double> usualStride(mlir::Value tile, unsigned dim);

} // namespace tegula::analysis
