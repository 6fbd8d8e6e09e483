// Shape ops that are no change of coordinates: they copy between buffers.
#include "ir/tile/Tile.h"
#include "targets/cpu/ElementLoop.h"

using namespace mlir;
using namespace tegula::tile;
using namespace tegula::analysis;

namespace tegula::cpu {

namespace {

Buffer reshaped(Buffer buffer, ArrayRef<int64_t> shape) {
  buffer.shape.assign(shape.begin(), shape.end());
  return buffer;
}

// Each half of the last dimension to its own buffer. Buffers are row-major: a tile that has one is read as
// pairs, whatever the other dimensions are.
void emitSplit(ProgramEmitter &p, SplitOp split) {
  const Buffer *source = p.plan.buffer(split.getValue());
  SmallVector<int64_t, 3> shape(shapeOf(split.getLhs().getType()));
  int64_t elements = 1;
  for (int64_t extent : shape)
    elements *= extent;
  if (source)
    shape.assign(1, elements);
  ElementLoop loop(p, ElementLoop::laneDimOf(p, shape));
  loop.over(shape, [&](const Coordinates &at) {
    for (auto [half, result] : llvm::enumerate(split->getResults())) {
      const Buffer *buffer = p.plan.buffer(result);
      if (!buffer)
        continue;
      Coordinates from(at);
      from.push_back({p.i64(int64_t(half)), false, 0, -1});
      llvm::Value *value = source ? loop.evaluator().read(reshaped(*source, {elements, 2}), from)
                                  : loop.element(split.getValue(), from);
      loop.evaluator().write(source ? reshaped(*buffer, {elements}) : *buffer, at, value);
    }
  });
}

// lhs, then rhs behind it along the axis.
void emitCat(ProgramEmitter &p, CatOp cat) {
  const Buffer *result = p.plan.buffer(cat.getResult());
  if (!result)
    return;
  int64_t start = 0;
  for (Value part : {cat.getLhs(), cat.getRhs()}) {
    auto shape = shapeOf(part.getType());
    ElementLoop loop(p, ElementLoop::laneDimOf(p, shape));
    loop.over(shape, [&](const Coordinates &at) {
      Coordinates to(at);
      Coordinate &moved = to[cat.getAxis()];
      moved.index = p.builder.CreateAdd(moved.index, p.i64(start));
      loop.evaluator().write(*result, to, loop.element(part, at));
    });
    start += shape[cat.getAxis()];
  }
}

} // namespace

void emitShape(ProgramEmitter &p, Operation *op) {
  p.remark(op, "buffer", "copied into memory of its own");
  if (auto split = dyn_cast<SplitOp>(op))
    return emitSplit(p, split);
  emitCat(p, cast<CatOp>(op));
}

} // namespace tegula::cpu
