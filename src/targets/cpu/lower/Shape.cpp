// Shape ops that are no change of coordinates: they copy between buffers.
#include "ir/tile/Tile.h"
#include "targets/cpu/ElementLoop.h"

using namespace mlir;
using namespace tegula::tile;
using namespace tegula::analysis;

namespace tegula::cpu {

namespace {

// Each half of the last dimension to its own buffer.
void emitSplit(ProgramEmitter &p, SplitOp split) {
  ElementLoop loop(p);
  loop.over(shapeOf(split.getLhs().getType()), [&](const Coordinates &at) {
    for (auto [half, result] : llvm::enumerate(split->getResults())) {
      Coordinates from(at);
      from.push_back({p.i64(int64_t(half)), false, 0, -1});
      if (const Buffer *buffer = p.plan.buffer(result))
        loop.evaluator().write(*buffer, at, loop.element(split.getValue(), from));
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
    ElementLoop loop(p);
    loop.over(shapeOf(part.getType()), [&](const Coordinates &at) {
      Coordinates to(at);
      Coordinate &moved = to[cat.getAxis()];
      moved.index = p.builder.CreateAdd(moved.index, p.i64(start));
      loop.evaluator().write(*result, to, loop.element(part, at));
    });
    start += shapeOf(part.getType())[cat.getAxis()];
  }
}

} // namespace

void emitShape(ProgramEmitter &p, Operation *op) {
  p.remark(op, "buffer", "copied one element after the other");
  if (auto split = dyn_cast<SplitOp>(op))
    return emitSplit(p, split);
  emitCat(p, cast<CatOp>(op));
}

} // namespace tegula::cpu
