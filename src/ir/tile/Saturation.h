// Bounds of a value that the conversion behind them keeps by itself: it saturates (N12, N13); and conversions
// to 8 bits at once of what bounds keep within these.
#pragma once
#include "mlir/IR/PatternMatch.h"

namespace tegula::tile {

void addSaturationPatterns(mlir::RewritePatternSet &patterns);

} // namespace tegula::tile
