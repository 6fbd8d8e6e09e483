// Writes on each simt.convert how it will happen and at which cost; tells the cost as remarks, and the steps of
// reductions and scans.
#pragma once
#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <string>

namespace tegula::transforms {

// `tell` gets the place, the kind ("convert", "reduce", "scan") and one line for each conversion that costs
// something, each reduction and each scan.
using TellPlan = llvm::function_ref<void(mlir::Location, llvm::StringRef kind, std::string text)>;
void planConverts(mlir::ModuleOp module, TellPlan tell);

} // namespace tegula::transforms
