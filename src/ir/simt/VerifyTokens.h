// The discipline of asynchronous copies, which types alone do not keep. In: a module that verifies, in simt.
// Along every path, through loops and branches:
//
//   - the token of a copy goes to one commit, and a commit takes all copies since the last one: the hardware
//     groups by order, not by token;
//   - a wait names a group that it waits for: at least `pending` groups are younger. Loops that carry tokens
//     carry them in the order of their groups;
//   - a slot is read, written or copied to only when no copy into it can be under way: a wait stands between,
//     or the buffer has more slots than groups under way, and another slot is named;
//   - at the end of the kernel no copy is under way;
//   - what a product that runs by itself adds up is read behind a wait for it alone.
#pragma once
#include "mlir/IR/BuiltinOps.h"

namespace tegula::simt {

// Failure after an error at the op that breaks a rule.
mlir::LogicalResult verifyTokens(mlir::ModuleOp module);

} // namespace tegula::simt
