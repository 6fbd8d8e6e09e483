// Comparisons, minima and maxima of integers that lie in known ranges: the checks of what is never negative
// go away. In: any tile IR. Ranges are found on the spot from at most a few ops behind a value.
#pragma once
#include "mlir/IR/PatternMatch.h"

namespace tegula::tile {

// The least and the greatest value that an integer, scalar or tile, may have; signed.
struct IntegerRange {
  int64_t least, greatest;
};
IntegerRange rangeOf(mlir::Value value, unsigned depth = 8);

// The n, a scalar or a tile, where a value or each element of it is n - 1; null: it is written in no such
// way. n - 1 may wrap.
mlir::Value nextOf(mlir::Value value);

void addRangePatterns(mlir::RewritePatternSet &patterns);

} // namespace tegula::tile
