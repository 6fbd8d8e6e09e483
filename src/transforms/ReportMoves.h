// Says how elements of tiles travel between threads: a remark for each conversion that costs something
// ("convert"), and one with the steps of each reduction ("reduce") and scan ("scan").
#pragma once
#include "diag/Remark.h"

#include "mlir/IR/BuiltinOps.h"

#include <vector>

namespace tegula::transforms {

// Conversions are planned before (PlanConverts.h); appends to `remarks`, and changes nothing.
void reportMoves(mlir::ModuleOp module, std::vector<diag::Remark> &remarks);

} // namespace tegula::transforms
