// The place of an op in the user's source, as texts of diagnostics and remarks have it.
#pragma once
#include "mlir/IR/Location.h"

#include <string>

namespace tegula::tile {

// "file:line:column" of the innermost place that is no line of the language's own library, whose functions are
// walked in place of their calls; "" where nothing is known.
std::string placeOf(mlir::Location location);

} // namespace tegula::tile
