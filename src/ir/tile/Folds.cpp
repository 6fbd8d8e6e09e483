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

// The scalar behind a splat, constant or not.
OpFoldResult UnsplatOp::fold(FoldAdaptor adaptor) {
  if (auto splat = getValue().getDefiningOp<SplatOp>())
    return splat.getValue();
  auto dense = dyn_cast_or_null<DenseElementsAttr>(adaptor.getValue());
  return dense ? OpFoldResult(*dense.value_begin<Attribute>()) : OpFoldResult();
}

OpFoldResult MakeRangeOp::fold(FoldAdaptor) {
  auto type = cast<RankedTensorType>(getType());
  if (type.getNumElements() != 1)
    return {};
  return DenseElementsAttr::get(type, IntegerAttr::get(type.getElementType(), int32_t(getStart())));
}

// x as another type and back.
template <class Inverse> static OpFoldResult foldInverse(Operation *op) {
  auto inner = op->getOperand(0).getDefiningOp<Inverse>();
  return inner && inner->getOperand(0).getType() == op->getResult(0).getType()
             ? OpFoldResult(inner->getOperand(0))
             : OpFoldResult();
}

OpFoldResult PtrToIntOp::fold(FoldAdaptor) { return foldInverse<IntToPtrOp>(*this); }

OpFoldResult IntToPtrOp::fold(FoldAdaptor) { return foldInverse<PtrToIntOp>(*this); }

// The bits of a scalar constant as a constant of another type.
static Attribute castBits(Attribute value, Type to) {
  APInt bits;
  if (auto integer = dyn_cast<IntegerAttr>(value))
    bits = integer.getValue();
  else if (auto real = dyn_cast<FloatAttr>(value))
    bits = real.getValue().bitcastToAPInt();
  else
    return {};
  if (auto type = dyn_cast<FloatType>(to))
    return FloatAttr::get(type, APFloat(type.getFloatSemantics(), bits));
  return isa<IntegerType>(to) ? IntegerAttr::get(to, bits) : Attribute();
}

OpFoldResult BitcastOp::fold(FoldAdaptor adaptor) {
  if (getValue().getType() == getType())
    return getValue();
  if (OpFoldResult back = foldInverse<BitcastOp>(*this))
    return back;
  auto dense = dyn_cast_or_null<DenseElementsAttr>(adaptor.getValue());
  if (dense && !dense.isSplat())
    return {};
  Attribute scalar = dense ? dense.getSplatValue<Attribute>() : adaptor.getValue();
  Attribute cast = scalar ? castBits(scalar, elementType(getType())) : Attribute();
  return dense && cast ? foldSplat(cast, getType()) : OpFoldResult(cast);
}

OpFoldResult FpToFpOp::fold(FoldAdaptor) {
  return getValue().getType() == getType() ? OpFoldResult(getValue()) : OpFoldResult();
}
