// The table of the ops that this target lowers: the rows of codegen/simt/Ops.def, then those of Ops.def here.
#pragma once
#include "codegen/simt/Ops.h"

#include "mlir/IR/BuiltinOps.h"

namespace tegula::nvidia {

const simt::OpTable &ops();

// Unsupported, with the op and its place, for a kernel with an op that no row lowers.
Status checkLegal(mlir::ModuleOp module);

} // namespace tegula::nvidia
