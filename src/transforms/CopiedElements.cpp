#include "transforms/CopiedElements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/ADT/DenseSet.h"

#include <map>

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {

namespace {

// An address is computed of at most so many tiles; copies of longer computations stay unrolled.
constexpr size_t mostTiles = 256;

bool isElementwise(Operation *op) {
  return op->hasTrait<OpTrait::Elementwise>() && op->getNumResults() == 1 && op->getNumRegions() == 0 &&
         isPure(op);
}

// An element of each tile that a value is computed of, and of the value, at coordinates.
class ElementAt {
public:
  explicit ElementAt(OpBuilder &builder) : b_(builder) {}

  // Is all of it made of ranges, scalars and arithmetic?
  bool has(Value value) {
    auto tile = dyn_cast<RankedTensorType>(value.getType());
    if (!tile || has_.contains(value))
      return true;
    Operation *op = value.getDefiningOp();
    if (!op || has_.size() + ++depth_ > mostTiles)
      return false;
    auto constant = dyn_cast<arith::ConstantOp>(op);
    bool isOne = constant
                     ? isa<SplatElementsAttr>(constant.getValue())
                     : isa<SplatOp, MakeRangeOp, ExpandDimsOp, BroadcastOp, TransOp, simt::ConvertOp>(op) ||
                           isElementwise(op);
    if (!isOne || !llvm::all_of(op->getOperands(), [&](Value operand) { return has(operand); }))
      return false;
    --depth_;
    has_.insert(value);
    return true;
  }

  Value of(Value value, const SmallVector<Value> &at) {
    if (!isa<RankedTensorType>(value.getType()))
      return value;
    auto [known, isNew] = known_.try_emplace({value.getAsOpaquePointer(), keyOf(at)});
    if (isNew)
      known->second = compute(value, at);
    return known->second;
  }

private:
  static std::vector<void *> keyOf(ArrayRef<Value> at) {
    std::vector<void *> key;
    for (Value each : at)
      key.push_back(each.getAsOpaquePointer());
    return key;
  }

  Value number(Location loc, int64_t value) {
    return arith::ConstantOp::create(b_, loc, b_.getI32IntegerAttr(int32_t(value)));
  }

  Value compute(Value value, SmallVector<Value> at) {
    Operation *op = value.getDefiningOp();
    Location loc = op->getLoc();
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      return arith::ConstantOp::create(
          b_, loc, cast<SplatElementsAttr>(constant.getValue()).getSplatValue<TypedAttr>());
    if (auto splat = dyn_cast<SplatOp>(op))
      return splat.getValue();
    if (auto range = dyn_cast<MakeRangeOp>(op))
      return b_.createOrFold<arith::AddIOp>(loc, at[0], number(loc, int32_t(range.getStart())));
    if (auto expand = dyn_cast<ExpandDimsOp>(op)) {
      at.erase(at.begin() + expand.getAxis());
      return of(expand.getValue(), at);
    }
    if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
      for (auto [place, extent] : llvm::zip(at, shapeOf(broadcast.getValue().getType())))
        if (extent == 1)
          place = zero(loc);
      return of(broadcast.getValue(), at);
    }
    if (auto transposed = dyn_cast<TransOp>(op)) {
      SmallVector<Value> before(at.size());
      for (auto [place, dim] : llvm::zip(at, transposed.getOrder()))
        before[size_t(dim)] = place;
      return of(transposed.getValue(), before);
    }
    if (auto convert = dyn_cast<simt::ConvertOp>(op))
      return of(convert.getValue(), at);
    IRMapping elements;
    for (Value operand : op->getOperands())
      if (!elements.contains(operand))
        elements.map(operand, of(operand, at));
    Operation *element = op->clone(elements);
    element->getResult(0).setType(elementType(value.getType()));
    return b_.insert(element)->getResult(0);
  }

  Value zero(Location loc) { return zero_ ? zero_ : zero_ = number(loc, 0); }

  OpBuilder &b_;
  llvm::DenseSet<Value> has_;
  size_t depth_ = 0; // of the value that is asked for now
  std::map<std::pair<void *, std::vector<void *>>, Value> known_;
  Value zero_;
};

} // namespace

bool canDescribeElements(Value pointers, Value mask) {
  OpBuilder builder(pointers.getContext());
  ElementAt element(builder);
  auto tile = cast<RankedTensorType>(pointers.getType());
  auto isPower = [](int64_t extent) { return llvm::isPowerOf2_64(uint64_t(extent)); };
  return tile.getRank() == 2 && llvm::all_of(tile.getShape(), isPower) && element.has(pointers) &&
         (!mask || element.has(mask));
}

bool describeElements(OpBuilder &builder, Region &region, Value pointers, Value mask) {
  if (!canDescribeElements(pointers, mask))
    return false;
  OpBuilder::InsertionGuard guard(builder);
  ElementAt element(builder);
  SmallVector<Type> types(2, builder.getI32Type());
  Location loc = region.getLoc();
  Block *block = builder.createBlock(&region, {}, types, {loc, loc});
  SmallVector<Value> at(block->getArguments());
  Value pointer = element.of(pointers, at), where = mask ? element.of(mask, at) : Value();
  simt::ElementOp::create(builder, loc, pointer, where);
  return true;
}

bool describeElements(OpBuilder &builder, simt::AsyncCopyOp copy) {
  return describeElements(builder, copy.getElement(), copy.getPointers(), copy.getMask());
}

} // namespace tegula::transforms
