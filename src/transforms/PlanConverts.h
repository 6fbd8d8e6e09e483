// Writes on each simt.convert how it will happen and at which cost. Appends a remark for each conversion that
// costs something ("convert"), and one with the steps of each reduction ("reduce") and scan ("scan").
#pragma once
#include "diag/Remark.h"

#include "mlir/IR/BuiltinOps.h"

#include <vector>

namespace tegula::transforms {

void planConverts(mlir::ModuleOp module, std::vector<diag::Remark> &remarks);

} // namespace tegula::transforms
