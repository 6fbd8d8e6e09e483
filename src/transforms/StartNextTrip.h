// Loops around loops of products, as programs have them that walk over tiles: the first copies of a trip
// start in the trip before, ahead of what that one does behind its products.
#pragma once
#include "diag/Remark.h"
#include "ir/simt/Machine.h"
#include "transforms/PlanCopies.h"
#include "transforms/Ring.h"

#include <vector>

namespace tegula::transforms {

// Returns the loop around a planned one whose trips may start its first copies early; null: there is none, or
// what these copies need is not known by then.
mlir::scf::ForOp loopThatMayStartEarly(const CopyPlan &plan, std::vector<diag::Remark> &remarks);

// Lets the loop around the ring's loops start their first copies a trip early. `ring`: as the last of these
// loops leaves it, alone in that loop, its `around`. Nothing happens where there is no room.
void startNextTrip(const Ring &ring, const simt::Machine &machine, std::vector<diag::Remark> &remarks);

// Do the buffers leave enough shared memory, and as many programs on a multiprocessor, if they live as long
// as the loop around? Conversions behind the products take more rounds, and less scratch memory, where that
// makes room.
bool makeRoom(const Ring &ring, const simt::Machine &machine);

// Says why such a loop leaves it to each trip.
void remarkNoEarlyStart(mlir::scf::ForOp around, const char *why, std::vector<diag::Remark> &remarks);

} // namespace tegula::transforms
