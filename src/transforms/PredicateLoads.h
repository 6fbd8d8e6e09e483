// Loads under conditions of a loop become loads under masks.
#pragma once
#include "ir/tile/Tile.h"

#include "mlir/IR/Operation.h"

namespace tegula::transforms {

// In tile IR: an `if` in a loop, whose branches only load and compute little, becomes what it computes, under
// masks that say which branch is taken, and selections; so does one beside a product that computes a few
// tiles and loads nothing (nibbles of a byte), so that loads are found to be what a factor is made of. A
// branch would let its loads wait for what stands ahead of it, the loads of the trip among them. Nothing is
// loaded that was not before. Ifs stay as they are that store, load volatile values or tiles of more than
// `mostElements`, or hold what must not be computed in vain.
void predicateLoads(mlir::Operation *function, int64_t mostElements);

// The load, where the condition holds; elements that it masks off are `other`, or undefined.
void maskLoad(mlir::OpBuilder &builder, tile::LoadOp load, mlir::Value condition);

} // namespace tegula::transforms
