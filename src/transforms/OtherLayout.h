// Tiles that are computed again, in another layout.
#pragma once
#include "ir/simt/Simt.h"

namespace tegula::transforms {

// Is the tile made of ranges, scalars and arithmetic alone, so that it can be computed in any layout?
bool isComputable(mlir::Value tile);
// Computes such a tile in `layout`, where the builder stands.
mlir::Value computedIn(mlir::OpBuilder &builder, mlir::Value tile, const layout::Layout &layout);

} // namespace tegula::transforms
