// How neighbours along a dimension share addresses where they are not contiguous: bytes that hold
// several packed values, `k // 8`. A guess from the shape of the expression, with everything that only
// run time knows taken as 0: it chooses layouts and proves nothing.
#pragma once
#include "ir/tile/Tile.h"

namespace tegula::convert {

// The length (a power of two, at most `limit`) of the shortest run of neighbours along `dim` in which
// a thread finds most addresses twice; 1 where runs share little, or nothing is known.
unsigned sharingRun(mlir::Value offsets, unsigned dim, unsigned limit);

} // namespace tegula::convert
