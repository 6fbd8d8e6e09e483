// Writes on each simt.convert how it will happen and at which cost; tells the cost as remarks.
#pragma once
#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <string>

namespace tegula::transforms {

// `tell` gets the place and one line for each conversion that costs something.
void planConverts(mlir::ModuleOp module, llvm::function_ref<void(mlir::Location, std::string)> tell);

} // namespace tegula::transforms
