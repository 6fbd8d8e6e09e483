// The constants by which neighbours within a tile differ, and two tiles. In: a kernel in tile IR or simt, and
// its AxisInfo, whose facts about runs in steps of one these extend.
#pragma once
#include "analysis/AxisInfo.h"

#include <optional>

namespace tegula::analysis {

// Of each group of `group` neighbours, a power of two that divides their places: each is `step` more than the
// one before, and the first is a multiple of `divisibility`. Of addresses both are in bytes.
struct Steps {
  int64_t step = 0, group = 1, divisibility = 1;

  // A power of two that divides the first of each smaller group, of `size`.
  int64_t divisibilityAt(int64_t size) const;
};

// The widest groups that are known of the tile along `dim`.
Steps stepsAlong(mlir::Value tile, unsigned dim, AxisInfoAnalysis &axes);

// The number that `to` is more than `from` at every element; of addresses, in elements. nullopt: it is not
// known, or differs.
std::optional<int64_t> distanceBetween(mlir::Value from, mlir::Value to, AxisInfoAnalysis &axes);

// Do the elements of the two tiles of addresses take turns in memory, so that two of them begin where an
// access of both may? 1: those of `b` lie behind those of `a`; -1: the other way round; 0: they do not.
int orderInPairs(mlir::Value a, mlir::Value b, AxisInfoAnalysis &axes);

} // namespace tegula::analysis
