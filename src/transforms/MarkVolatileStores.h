// Stores that a volatile load of another program may read.
#pragma once
#include "mlir/IR/Operation.h"

namespace tegula::transforms {

// Marks (`tt.volatile`) each store of the function whose address may share an argument with a volatile
// load's: a word that some programs poll must be stored whole by those that publish it (memory model, M21).
void markVolatileStores(mlir::Operation *function);

} // namespace tegula::transforms
