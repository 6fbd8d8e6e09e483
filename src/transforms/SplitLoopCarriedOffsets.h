// `ptrs += step` around a loop, as base plus a carried scalar.
#pragma once
#include "mlir/IR/Operation.h"

namespace tegula::transforms {

// Rewrites every scf.for below `root` whose carried tile `t` is yielded as addptr(t, splat s)
// or addi(t, splat s): inside, t becomes init + splat(carried scalar). A carried pointer that is
// yielded as addptr(p, s), as block pointers and rows are, becomes init + carried scalar. Exact:
// address arithmetic is modulo 2^64, integer arithmetic modulo the type's width.
void splitLoopCarriedOffsets(mlir::Operation *root);

} // namespace tegula::transforms
