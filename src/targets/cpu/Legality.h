// What this target cannot do, found before anything is emitted.
#pragma once
#include "base/Status.h"

#include "mlir/IR/Operation.h"

namespace tegula::cpu {

// Unsupported, with place and op; Ok where every op below `function` can be emitted.
Status checkLegality(mlir::Operation *function);

} // namespace tegula::cpu
