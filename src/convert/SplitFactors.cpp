#include "convert/TileToSimt.h"
#include "ir/tile/Tile.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::convert {

namespace {

// A tile of f32 as the sum of `count` tiles of bf16, the largest first: each the rest of those before,
// rounded.
SmallVector<Value> partsOf(OpBuilder &builder, Value tile, unsigned count) {
  Location loc = tile.getLoc();
  Type narrow = withElement(tile.getType(), builder.getBF16Type());
  SmallVector<Value> parts;
  while (true) {
    parts.push_back(arith::TruncFOp::create(builder, loc, narrow, tile));
    if (parts.size() == count)
      return parts;
    Value taken = arith::ExtFOp::create(builder, loc, tile.getType(), parts.back());
    tile = arith::SubFOp::create(builder, loc, tile, taken);
  }
}

Value constantLike(OpBuilder &builder, Value tile, double value) {
  auto type = cast<RankedTensorType>(tile.getType());
  auto number = builder.getFloatAttr(type.getElementType(), value);
  return arith::ConstantOp::create(builder, tile.getLoc(), DenseElementsAttr::get(type, Attribute(number)));
}

// The smallest products first. Those of the rests are NaN where a factor is infinite, and then do not count.
void split(DotOp dot, unsigned count) {
  OpBuilder builder(dot);
  Location loc = dot.getLoc();
  SmallVector<Value> a = partsOf(builder, dot.getA(), count), b = partsOf(builder, dot.getB(), count);
  Value none = constantLike(builder, dot.getAcc(), 0), sum = none;
  auto add = [&](Value x, Value y) {
    auto product = cast<DotOp>(builder.clone(*dot));
    product.getAMutable().set(x);
    product.getBMutable().set(y);
    product.getAccMutable().set(sum);
    product.setPrecision(Precision::IEEE);
    sum = product.getResult();
  };
  for (unsigned order = count - 1; order != 0; --order)
    for (unsigned i = order + 1; i-- != 0;)
      add(a[i], b[order - i]);
  Value isNan = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO, sum, sum);
  sum = arith::SelectOp::create(builder, loc, isNan, none, sum);
  add(a[0], b[0]);
  Value all = arith::AddFOp::create(builder, loc, dot.getAcc(), sum);
  dot.replaceAllUsesWith(all);
  dot.erase();
}

} // namespace

void splitFactors(ModuleOp module, const simt::Machine &machine) {
  SmallVector<DotOp> dots;
  module.walk([&](DotOp dot) { dots.push_back(dot); });
  for (DotOp dot : dots) {
    Type result = elementType(dot.getType());
    Precision precision = dot.getPrecision();
    bool isSplit = precision == Precision::BF16x3 || precision == Precision::BF16x6;
    Type narrow = BFloat16Type::get(module.getContext());
    if (isSplit && elementType(dot.getA().getType()).isF32() && result.isF32() &&
        !machine.matrixInstructions({narrow, narrow, result, Precision::IEEE}).empty())
      split(dot, precision == Precision::BF16x3 ? 2 : 3);
  }
}

} // namespace tegula::convert
