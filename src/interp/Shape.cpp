// Ops that move elements and compute nothing.
#include "interp/Maps.h"

namespace tegula::interp {

namespace {

llvm::SmallVector<int64_t> rowMajorStrides(llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;)
    strides[d - 1] = strides[d] * shape[d];
  return strides;
}

// The element at coordinates c of the result is the operand's at sum of c[d] * strides[d].
bool gather(Interpreter &machine, mlir::Operation *op, llvm::ArrayRef<int64_t> strides) {
  const Tile &from = machine.operand(op, 0);
  llvm::ArrayRef<int64_t> shape = tile::shapeOf(op->getResult(0).getType());
  llvm::SmallVector<int64_t> coordinates(shape.size(), 0);
  int64_t offset = 0;
  return mapElements(machine, op, [&](size_t) {
    uint64_t bits = from.bits[offset];
    for (size_t d = shape.size(); d-- > 0;) {
      offset += strides[d];
      if (++coordinates[d] < shape[d])
        break;
      offset -= strides[d] * shape[d];
      coordinates[d] = 0;
    }
    return bits;
  });
}

// Same elements in the same order.
bool relabel(Interpreter &machine, mlir::Operation *op) {
  const Tile &from = machine.operand(op, 0);
  return mapElements(machine, op, [&](size_t i) { return from.bits[i]; });
}

} // namespace

template <> bool execute(Interpreter &machine, tile::SplatOp op) {
  const uint64_t bits = machine.value(op.getValue()).bits[0];
  return mapElements(machine, op, [=](size_t) { return bits; });
}

template <> bool execute(Interpreter &machine, tile::UnsplatOp op) { return relabel(machine, op); }
template <> bool execute(Interpreter &machine, tile::ExpandDimsOp op) { return relabel(machine, op); }
template <> bool execute(Interpreter &machine, tile::ReshapeOp op) { return relabel(machine, op); }

template <> bool execute(Interpreter &machine, tile::BroadcastOp op) {
  llvm::ArrayRef<int64_t> from = tile::shapeOf(op.getValue().getType()), to = tile::shapeOf(op.getType());
  llvm::SmallVector<int64_t> strides = rowMajorStrides(from);
  for (size_t d = 0; d < from.size(); ++d)
    if (from[d] != to[d])
      strides[d] = 0;
  return gather(machine, op, strides);
}

template <> bool execute(Interpreter &machine, tile::TransOp op) {
  llvm::SmallVector<int64_t> from = rowMajorStrides(tile::shapeOf(op.getValue().getType())), strides;
  for (int32_t source : op.getOrder())
    strides.push_back(from[source]);
  return gather(machine, op, strides);
}

template <> bool execute(Interpreter &machine, tile::JoinOp op) {
  const Tile &left = machine.value(op.getLhs()), &right = machine.value(op.getRhs());
  return mapElements(machine, op, [&](size_t i) { return (i % 2 ? right : left).bits[i / 2]; });
}

template <> bool execute(Interpreter &machine, tile::CatOp op) {
  const Tile &left = machine.value(op.getLhs()), &right = machine.value(op.getRhs());
  // Runs of whole rows below the axis, in turn from both.
  auto run = [&](const Tile &tile) {
    size_t count = 1;
    for (int64_t extent : llvm::ArrayRef(tile.shape).drop_front(op.getAxis()))
      count *= extent;
    return count;
  };
  const size_t fromLeft = run(left), fromRight = run(right), period = fromLeft + fromRight;
  return mapElements(machine, op, [&](size_t i) {
    const size_t turn = i / period, at = i % period;
    return at < fromLeft ? left.bits[turn * fromLeft + at] : right.bits[turn * fromRight + at - fromLeft];
  });
}

template <> bool execute(Interpreter &machine, tile::GatherOp op) {
  const Tile &source = machine.value(op.getSource()), &indices = machine.value(op.getIndices());
  const size_t axis = op.getAxis();
  const size_t inner = rowMajorStrides(source.shape)[axis], extent = source.shape[axis],
               taken = indices.shape[axis];
  return mapElements(machine, op, [&](size_t i) -> uint64_t {
    const int64_t index = indices.asSigned(i);
    if (index < 0 || size_t(index) >= extent)
      return 0;
    return source.bits[(i / inner / taken * extent + size_t(index)) * inner + i % inner];
  });
}

template <> bool execute(Interpreter &machine, tile::SplitOp op) {
  Tile left = Interpreter::make(op.getLhs().getType()), right = left;
  const Tile &from = machine.value(op.getValue());
  for (size_t i = 0; i < left.size(); ++i) {
    left.bits[i] = from.bits[2 * i];
    right.bits[i] = from.bits[2 * i + 1];
  }
  machine.define(op.getLhs(), std::move(left));
  machine.define(op.getRhs(), std::move(right));
  return true;
}

} // namespace tegula::interp
