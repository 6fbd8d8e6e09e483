// `i % n` and `i // n` in addresses: checked once instead of loaded element by element.
#pragma once
#include "diag/Remark.h"

#include "mlir/IR/Operation.h"

#include "llvm/ADT/SmallVector.h"

#include <vector>

namespace tegula::transforms {

// The ops that `checkRemainders` may check: remainders and quotients, those of indices alone if they are too
// many, and none if these are.
llvm::SmallVector<mlir::Operation *> remaindersToCheck(mlir::Operation *function);

// Neighbours whose first is a multiple of their number, as n is, have neighbouring remainders by n, unless
// the first is a multiple of n below zero, behind which remainders jump from 0 to -n+1, or n is 0; quotients
// of neighbours change at the same places. Where wide accesses rest on nothing but that, marks the op as
// checked and adds a tt.assert that no first element of a run is such a one; of indices, made of program ids,
// ranges and constants, that none is below zero, which takes a number past 32 bits. Appends a remark
// ("access").
void checkRemainders(mlir::Operation *function, std::vector<diag::Remark> &remarks);

} // namespace tegula::transforms
