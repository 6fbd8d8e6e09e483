// Stores of whole tiles by one thread, from a buffer in shared memory and box by box, wherever the tile is a
// window of memory (BulkCopies.h). In: stores of tiles that a conversion takes through shared memory. Out:
// the tile goes to a buffer in the order of boxes, which drains while the program goes on; where no box fits,
// all threads store it from there.
#pragma once
#include "diag/Remark.h"
#include "ir/simt/Machine.h"

#include "mlir/IR/Operation.h"

namespace tegula::transforms {

void storeBoxes(mlir::Operation *function, const simt::Machine &machine, std::vector<diag::Remark> &remarks);

} // namespace tegula::transforms
