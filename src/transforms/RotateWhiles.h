// `while` loops whose condition takes all threads.
#pragma once
#include "mlir/IR/Operation.h"

namespace tegula::transforms {

// In simt: a loop whose condition reduces a tile, and whose trips load tiles, asks for its condition behind
// each trip, and once ahead of the first one. LLVM copies no code in which threads meet, and so leaves such
// loops alone; the assembler then keeps masks of the condition as predicates over the trip's loads, and has
// these wait for one another in the predicates that are left.
void rotateWhiles(mlir::Operation *function);

} // namespace tegula::transforms
