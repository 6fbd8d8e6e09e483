// Loops without products that write, for programs that have a multiprocessor for themselves.
#pragma once
#include "diag/Remark.h"
#include "ir/simt/Machine.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <vector>

namespace tegula::transforms {

// On a load of a loop that writes: no trip stores to what a later one loads here.
inline constexpr llvm::StringLiteral readsApartName = "tt.reads_apart";

// Has the loop loads that may run ahead of its stores, as this pass found?
bool readsApart(mlir::scf::ForOp loop);

// A trip that writes waits for its loads, since they may read what an earlier trip wrote through another
// argument (clause M6). A loop of which the ends of all addresses are known ahead of it becomes two, chosen
// by whether it takes several trips, and what it loads and what it stores are apart: one whose loads are
// marked, which are then copied ahead, and the loop as it was. What the program has read before comes from
// the first-level cache, around which copies go: it is copied only where it is more than that holds. Leaves a
// remark ("pipeline") at each such loop. Loops whose user asks for stages are copied ahead without it.
void versionWritingLoops(mlir::Operation *function, const simt::Machine &machine,
                         std::vector<diag::Remark> &remarks);

} // namespace tegula::transforms
