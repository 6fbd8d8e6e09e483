// Tiles of addresses and masks that only copies by all threads read, which stand in where no box fits.
#pragma once
#include "ir/simt/Simt.h"

namespace tegula::transforms {

// In simt, behind all that asks what an access may meet: what a block computes ahead of such copies for them
// alone moves into a branch on the condition that the boxes do not fit. Mostly they do, and a program starts
// its first copies sooner. Copies whose condition each trip asks anew keep their tiles ahead of the loop.
void sinkStandIns(mlir::Operation *function);

// Returns the condition under which boxes bring what the copy does: it happens only where that is false.
// Null: there is no such condition.
mlir::Value conditionOfBoxes(simt::AsyncCopyOp copy);

} // namespace tegula::transforms
