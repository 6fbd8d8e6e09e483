// The simt dialect: its attribute, its ops, and the questions every reader of layouts asks.
#pragma once
#include "ir/tile/Tile.h"
#include "layout/Layout.h"

#include "ir/simt/Dialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/simt/Attributes.h.inc"
#define GET_OP_CLASSES
#include "ir/simt/Ops.h.inc"

namespace tegula::simt {

// Loads the dialect and tile IR's.
void loadDialects(mlir::MLIRContext &context);

// The layout of a tile; the type must carry one.
layout::Layout layoutOf(mlir::Type tile);
inline layout::Layout layoutOf(mlir::Value tile) { return layoutOf(tile.getType()); }
// The type with this layout.
mlir::RankedTensorType withLayout(mlir::Type tile, const layout::Layout &layout);

// Attributes on the module and on ops.
inline constexpr llvm::StringLiteral warpsName = "simt.warps";
inline constexpr llvm::StringLiteral sharedBytesName = "simt.shared_bytes";
inline constexpr llvm::StringLiteral scratchName = "simt.scratch"; // offset in shared memory, in bytes
inline constexpr llvm::StringLiteral widthName = "simt.width";     // elements of one access
unsigned warpsOf(mlir::Operation *op);

} // namespace tegula::simt
