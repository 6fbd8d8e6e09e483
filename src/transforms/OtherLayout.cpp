#include "transforms/OtherLayout.h"

#include "ir/tile/Elementwise.h"

#include "mlir/IR/Matchers.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace tegula::tile;
using tegula::layout::Layout;

namespace tegula::transforms {

namespace {

constexpr size_t mostTiles = 64; // of which one is computed; longer computations are not made twice

bool isView(Operation *op) { return isa<ExpandDimsOp, BroadcastOp, TransOp>(op); }

bool isComputable(Value tile, llvm::DenseSet<Value> &seen) {
  if (!isTile(tile) || !seen.insert(tile).second)
    return true;
  Operation *op = tile.getDefiningOp();
  if (!op || op->getNumResults() != 1 || seen.size() > mostTiles)
    return false;
  if (matchPattern(op, m_Constant()))
    return isa<SplatElementsAttr>(cast<arith::ConstantOp>(op).getValue());
  bool isMade = isa<SplatOp, MakeRangeOp, simt::ConvertOp>(op) || isView(op) ||
                (isElementwise(op) && isMemoryEffectFree(op));
  return isMade &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return isComputable(operand, seen); });
}

class Computation {
public:
  explicit Computation(OpBuilder &builder) : b_(builder) {}

  Value in(Value tile, const Layout &layout) {
    if (!isTile(tile) || simt::layoutOf(tile) == layout)
      return tile;
    Operation *op = tile.getDefiningOp();
    if (auto convert = dyn_cast<simt::ConvertOp>(op))
      return in(convert.getValue(), layout);
    auto attribute = simt::LayoutAttr::get(tile.getContext(), layout);
    if (Value known = known_.lookup({tile, attribute}))
      return known;
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(in(operand, isView(op) ? *simt::operandLayout(op, layout) : layout));
    Operation *copy = b_.clone(*op);
    copy->setOperands(operands);
    copy->getResult(0).setType(simt::withLayout(tile.getType(), layout));
    if (auto constant = dyn_cast<arith::ConstantOp>(copy))
      constant.setValueAttr(
          cast<SplatElementsAttr>(constant.getValue()).resizeSplat(cast<ShapedType>(constant.getType())));
    return known_[{tile, attribute}] = copy->getResult(0);
  }

private:
  OpBuilder &b_;
  llvm::DenseMap<std::pair<Value, Attribute>, Value> known_;
};

} // namespace

bool isComputable(Value tile) {
  llvm::DenseSet<Value> seen;
  return isComputable(tile, seen);
}

Value computedIn(OpBuilder &builder, Value tile, const Layout &layout) {
  return Computation(builder).in(tile, layout);
}

} // namespace tegula::transforms
