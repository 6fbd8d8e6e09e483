#include "transforms/ChunkLargeTiles.h"
#include "analysis/PointerOrigins.h"
#include "ir/tile/Tile.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {

namespace {

bool touchesTiles(Operation &op) { return hasTile(op.getOperands()) || hasTile(op.getResults()); }

bool streams(Operation &op) {
  if (isa<MakeRangeOp>(op))
    return cast<MakeRangeOp>(op).getStart() == 0;
  if (isa<SplatOp, LoadOp, StoreOp>(op))
    return true;
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue());
  return op.getNumRegions() == 0 && isMemoryEffectFree(&op) &&
         (op.hasTrait<OpTrait::Elementwise>() || isa<arith::SelectOp>(op));
}

// Chunks one after another read and write what whole tiles would.
bool chunksAreIndependent(Block &block) {
  analysis::PointerOrigins origins;
  for (StoreOp store : block.getOps<StoreOp>()) {
    const analysis::OriginSet stored = origins.of(store.getPtr());
    if (stored.isUnknown)
      return false;
    for (Operation &op : block) {
      Value other = isa<LoadOp, StoreOp>(op) && &op != store.getOperation() ? op.getOperand(0) : Value();
      if (other && other != store.getPtr() && stored.mayShare(origins.of(other)))
        return false;
    }
  }
  return true;
}

// The one extent of all tiles; 0: there are several, or something that does not stream.
int64_t commonExtent(Block &block) {
  int64_t extent = 0;
  for (Operation &op : block) {
    if (!touchesTiles(op)) {
      if (op.getNumRegions() != 0 || !(isMemoryEffectFree(&op) || isa<ReturnOp>(op)))
        return 0;
      continue;
    }
    if (!streams(op))
      return 0;
    SmallVector<Type> types(op.getOperandTypes());
    llvm::append_range(types, op.getResultTypes());
    for (Type type : types) {
      auto tile = dyn_cast<RankedTensorType>(type);
      if (tile && (tile.getRank() != 1 || (extent != 0 && tile.getDimSize(0) != extent)))
        return 0;
      if (tile)
        extent = tile.getDimSize(0);
    }
  }
  return extent;
}

} // namespace

bool chunkLargeTiles(Operation *function, int64_t most, int64_t chunk) {
  Block &block = cast<FuncOp>(function).getBody().front();
  int64_t extent = commonExtent(block);
  if (extent <= most || extent % chunk != 0 || !chunksAreIndependent(block))
    return false;
  SmallVector<Operation *> tileOps;
  for (Operation &op : block)
    if (touchesTiles(op))
      tileOps.push_back(&op);
  // Scalars need no tile: all of them come before the loop.
  OpBuilder builder(block.getTerminator());
  Location where = tileOps.front()->getLoc();
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, where, builder.getI32IntegerAttr(int32_t(value)));
  };
  Value zero = number(0), end = number(extent), step = number(chunk);
  auto loop = scf::ForOp::create(builder, where, zero, end, step);
  builder.setInsertionPoint(loop.getBody()->getTerminator());
  auto narrow = [&](Type type) -> Type {
    auto tile = dyn_cast<RankedTensorType>(type);
    return tile ? RankedTensorType::get({chunk}, tile.getElementType()) : type;
  };
  IRMapping map;
  for (Operation *op : tileOps) {
    if (auto range = dyn_cast<MakeRangeOp>(op)) {
      auto type = cast<RankedTensorType>(narrow(range.getType()));
      Value local = MakeRangeOp::create(builder, op->getLoc(), type, 0, uint32_t(chunk));
      Value base = SplatOp::create(builder, op->getLoc(), type, loop.getInductionVar());
      map.map(range.getResult(), arith::AddIOp::create(builder, op->getLoc(), base, local).getResult());
      continue;
    }
    Operation *copy = builder.clone(*op, map);
    for (Value result : copy->getResults())
      result.setType(narrow(result.getType()));
    if (auto constant = dyn_cast<arith::ConstantOp>(copy))
      constant.setValueAttr(
          cast<SplatElementsAttr>(constant.getValue()).resizeSplat(cast<ShapedType>(constant.getType())));
  }
  for (Operation *op : llvm::reverse(tileOps))
    op->erase();
  return true;
}

} // namespace tegula::transforms
