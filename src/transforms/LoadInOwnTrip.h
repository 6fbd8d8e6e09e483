// Operands of products that a kernel loads a trip ahead by hand.
#pragma once
#include "diag/Remark.h"

#include "mlir/IR/Operation.h"

#include <vector>

namespace tegula::transforms {

// In tile IR: `a = load(p)` ahead of a loop whose body uses `a` in a product and ends with `a = load(p')`
// becomes a load at the top of the body. What differs between the two loads is carried in place of the tile:
// what the body adds to an address, scalars and rows of a mask. Loops that write memory stay as they are, and
// so do loads that are not the same but for such parts, volatile ones, and tiles that are used behind the
// loop. The value of each load is as before; the last one, which nobody uses, does not happen. Appends a
// remark ("pipeline") for each loop that is rewritten.
void loadInOwnTrip(mlir::Operation *function, std::vector<diag::Remark> &remarks);

} // namespace tegula::transforms
