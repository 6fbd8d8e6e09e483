// The cost of evaluating an op once more, for every decision between computing a value again and keeping it.
// In: an op whose results have one element for each coordinate. Out: a number of simple instructions for one
// element. Each kind of machine brings its own table; which ops count as what is said once, in OpCost.cpp.
#pragma once
#include "ir/tile/Tile.h"

namespace tegula::analysis {

struct OpCosts {
  int64_t position;      // ranges, splats, broadcasts, transpositions, constants
  int64_t simple;        // loads, casts, and all that is not named here
  int64_t floatDivision; // and float square roots
  int64_t floatRemainder;
  int64_t division;           // of integers, and their remainder
  int64_t constantDivision;   // by a constant: a wide product and a shift
  int64_t powerOfTwoDivision; // by a constant power of two
  int64_t wideProduct;        // the high half
  int64_t simpleMath;         // |x|, floor, ceil, fma
  int64_t math;               // exponentials and logarithms
  int64_t longMath;           // all other functions
};

int64_t costOf(mlir::Operation *op, const OpCosts &costs);

} // namespace tegula::analysis
