// Loads that read the same in each trip of a loop.
#pragma once
#include "ir/simt/Machine.h"

#include "mlir/IR/Operation.h"

namespace tegula::transforms {

// In tile: a loop that writes nothing loads each tile, whose addresses and mask are the same in all trips,
// once, ahead of it (M15), as far as threads have registers for such tiles; so moves what is computed of
// them. A loop that may have no trip loads under a mask, which says that it has one. Loads that are volatile
// or `.cv` stay, and all of a loop with `disable_licm`.
void hoistLoads(mlir::Operation *function, unsigned warps, const simt::Machine &machine);

} // namespace tegula::transforms
