// Folds. Only splats fold to constants: a tile of distinct constants would become text
// and memory of the tile's size (docs/decisions/).
#include "ir/tile/Tile.h"

using namespace mlir;
using namespace tegula::tile;

// A splat constant of the result's shape, where the operand is a constant scalar or splat.
static OpFoldResult foldSplat(Attribute operand, Type result) {
  auto type = dyn_cast<RankedTensorType>(result);
  if (!operand || !type || isa<PointerType>(type.getElementType()))
    return {};
  if (auto dense = dyn_cast<DenseElementsAttr>(operand))
    return dense.isSplat() ? OpFoldResult(dense.resizeSplat(type)) : OpFoldResult();
  if (isa<IntegerAttr, FloatAttr>(operand))
    return DenseElementsAttr::get(type, operand);
  return {};
}

OpFoldResult AddPtrOp::fold(FoldAdaptor adaptor) {
  auto isZero = [](Attribute attr) {
    if (auto integer = dyn_cast_or_null<IntegerAttr>(attr))
      return integer.getValue().isZero();
    auto dense = dyn_cast_or_null<DenseIntElementsAttr>(attr);
    return dense && dense.isSplat() && dense.getSplatValue<APInt>().isZero();
  };
  return isZero(adaptor.getOffset()) ? OpFoldResult(getPtr()) : OpFoldResult();
}

OpFoldResult SplatOp::fold(FoldAdaptor adaptor) { return foldSplat(adaptor.getValue(), getType()); }

OpFoldResult ExpandDimsOp::fold(FoldAdaptor adaptor) { return foldSplat(adaptor.getValue(), getType()); }

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getValue().getType() == getType())
    return getValue();
  return foldSplat(adaptor.getValue(), getType());
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getValue().getType() == getType())
    return getValue();
  return foldSplat(adaptor.getValue(), getType());
}

OpFoldResult TransOp::fold(FoldAdaptor adaptor) {
  bool identity = true;
  for (auto [d, source] : llvm::enumerate(getOrder()))
    identity &= int64_t(d) == source;
  if (identity)
    return getValue();
  return foldSplat(adaptor.getValue(), getType());
}

OpFoldResult BitcastOp::fold(FoldAdaptor) {
  return getValue().getType() == getType() ? OpFoldResult(getValue()) : OpFoldResult();
}
