// The simt dialect: its attribute, its ops, and the questions every reader of layouts asks.
#pragma once
#include "base/CopyMap.h"
#include "ir/tile/Tile.h"
#include "layout/Builders.h"
#include "layout/Conversion.h"
#include "layout/SharedMap.h"

#include "ir/simt/Dialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/simt/Attributes.h.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/simt/Types.h.inc"

namespace tegula::simt {
// The memories that ops have effects on.
struct SharedMemory : mlir::SideEffects::Resource::Base<SharedMemory> {
  llvm::StringRef getName() final { return "shared memory"; }
};
struct GlobalMemory : mlir::SideEffects::Resource::Base<GlobalMemory> {
  llvm::StringRef getName() final { return "global memory"; }
};
} // namespace tegula::simt

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

// The layout that the operand of a view (expand_dims, broadcast, trans, reshape) must have for a result in
// `result`; nullopt: there is none, or the op is no view.
std::optional<layout::Layout> operandLayout(mlir::Operation *view, const layout::Layout &result);

// The buffer that an op allocates, through views.
AllocOp allocOf(mlir::Value buffer);

// Has the op blocks that run with it? The function of elements of a copy or store counts as an attribute.
inline bool hasBlocks(mlir::Operation *op) {
  return op->getNumRegions() != 0 && !mlir::isa<AsyncCopyOp, StoreElementsOp>(op);
}

// Attributes on the module and on ops.
inline constexpr llvm::StringLiteral warpsName = "simt.warps";
inline constexpr llvm::StringLiteral sharedBytesName = "simt.shared_bytes";
inline constexpr llvm::StringLiteral scratchName = "simt.scratch"; // offset in shared memory, in bytes
inline constexpr llvm::StringLiteral widthName = "simt.width";     // elements of one access
// Of a load whose threads own fewer neighbours: the elements that one access could move in another layout,
// along the dimension along which they own most.
inline constexpr llvm::StringLiteral widestName = "simt.widest";
inline constexpr llvm::StringLiteral matrixName = "simt.matrix";  // of a dot: a #simt.matrix
inline constexpr llvm::StringLiteral inWarpName = "simt.in_warp"; // of a gather: lanes exchange elements
// Of a dot in a loop: it may still run when the next trip begins, and its buffers have a slot for that.
inline constexpr llvm::StringLiteral inFlightName = "simt.in_flight";
// Of a load: only those threads load an element that would store it; the others' copies reach nothing.
inline constexpr llvm::StringLiteral ownedName = "simt.owned";
// Of a copy by all threads in place of boxes: tiles at the edge of a tensor have no box.
inline constexpr llvm::StringLiteral atEdgesName = "simt.at_edges";
inline constexpr llvm::StringLiteral copyMapsName = "simt.copy_maps"; // of a module: see copyMapsOf
unsigned warpsOf(mlir::Operation *op);
// Is it, or has it in it, a loop that starts products which run by themselves? Is it a loop around such ones?
bool hasProductLoop(mlir::Operation *op);
bool isAroundProducts(mlir::Operation *op);

// Is the tile used as a factor of a product that multiply-adds compute? Do such products read it, as it lies
// or transposed?
bool isFactorOfMultiplyAdds(mlir::OpOperand &use);
bool feedsMultiplyAdds(mlir::Value tile);

// The copy maps of a module, by number.
std::vector<CopyMap> copyMapsOf(mlir::ModuleOp module);
// Adds one, or finds an equal one; its number.
uint32_t addCopyMap(mlir::ModuleOp module, const CopyMap &map);

} // namespace tegula::simt
