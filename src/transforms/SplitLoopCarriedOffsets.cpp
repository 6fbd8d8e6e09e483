#include "transforms/SplitLoopCarriedOffsets.h"

#include "ir/tile/Tile.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {
namespace {

// The scalar that the loop adds to every element of a carried tile, or to a carried pointer.
struct Advance {
  unsigned index; // of the carried value
  // Whose scalar it is, anywhere in or before the body; null: the constant below. The op outlives the
  // rewrite; the scalar itself does not where it is the loop's index or another carried value.
  SplatOp splat;
  AddPtrOp scalar; // the same of a pointer
  IntegerAttr constant;
  bool isPointer;

  Value step() { return splat ? splat.getValue() : scalar ? scalar.getOffset() : Value(); }
};

bool splatScalar(Value tile, Advance &advance) {
  if (auto splat = tile.getDefiningOp<SplatOp>()) {
    advance.splat = splat;
    return true;
  }
  if (auto constant = tile.getDefiningOp<arith::ConstantOp>())
    if (auto dense = dyn_cast<DenseIntElementsAttr>(constant.getValue()); dense && dense.isSplat()) {
      advance.constant = dense.getSplatValue<IntegerAttr>();
      return true;
    }
  return false;
}

std::optional<Advance> matchAdvance(scf::ForOp loop, unsigned index) {
  Value argument = loop.getRegionIterArg(index);
  Value yielded = cast<scf::YieldOp>(loop.getBody()->getTerminator()).getOperand(index);
  Advance advance{index, {}, {}, {}, false};
  if (isa<PointerType>(argument.getType())) {
    auto add = yielded.getDefiningOp<AddPtrOp>();
    if (!add || add.getPtr() != argument)
      return std::nullopt;
    advance.isPointer = true;
    advance.scalar = add;
    return advance;
  }
  if (!isTile(argument))
    return std::nullopt;
  if (auto add = yielded.getDefiningOp<AddPtrOp>()) {
    advance.isPointer = true;
    if (add.getPtr() == argument && splatScalar(add.getOffset(), advance))
      return advance;
  } else if (auto add = yielded.getDefiningOp<arith::AddIOp>()) {
    if (add.getLhs() == argument && splatScalar(add.getRhs(), advance))
      return advance;
    if (add.getRhs() == argument && splatScalar(add.getLhs(), advance))
      return advance;
  }
  return std::nullopt;
}

Value splat(OpBuilder &builder, Location loc, Value scalar, Value like) {
  auto type = RankedTensorType::get(shapeOf(like.getType()), scalar.getType());
  return SplatOp::create(builder, loc, type, scalar);
}

Value advanced(OpBuilder &builder, Location loc, Value initial, Value offset, bool isPointer) {
  Value step = isTile(initial) ? splat(builder, loc, offset, initial) : offset;
  if (isPointer)
    return AddPtrOp::create(builder, loc, initial.getType(), initial, step);
  return arith::AddIOp::create(builder, loc, initial, step);
}

void rewrite(scf::ForOp loop, ArrayRef<Advance> advances) {
  IRRewriter rewriter(loop.getContext());
  Location loc = loop.getLoc();
  rewriter.setInsertionPoint(loop);
  // The carried value is replaced by a carried scalar: 64 bits for addresses, the tile's own
  // width for integers, so that both wrap as before.
  SmallVector<Value> inits(loop.getInitArgs());
  SmallVector<Value> tiles;
  for (const Advance &advance : advances) {
    tiles.push_back(inits[advance.index]);
    Type type = advance.isPointer ? rewriter.getI64Type() : elementType(tiles.back().getType());
    inits[advance.index] = arith::ConstantOp::create(rewriter, loc, rewriter.getIntegerAttr(type, 0));
  }
  auto replacement =
      scf::ForOp::create(rewriter, loc, loop.getLowerBound(), loop.getUpperBound(), loop.getStep(), inits);
  replacement->setAttrs(loop->getAttrs());
  // An empty body gets its own terminator; the old body replaces it.
  if (!replacement.getBody()->empty())
    rewriter.eraseOp(replacement.getBody()->getTerminator());
  rewriter.setInsertionPointToStart(replacement.getBody());
  SmallVector<Value> arguments{replacement.getInductionVar()};
  for (Value argument : replacement.getRegionIterArgs())
    arguments.push_back(argument);
  for (auto [advance, tile] : llvm::zip(advances, tiles))
    arguments[advance.index + 1] =
        advanced(rewriter, loc, tile, replacement.getRegionIterArg(advance.index), advance.isPointer);
  rewriter.mergeBlocks(loop.getBody(), replacement.getBody(), arguments);

  auto yield = cast<scf::YieldOp>(replacement.getBody()->getTerminator());
  rewriter.setInsertionPoint(yield);
  for (Advance advance : advances) {
    Value carried = replacement.getRegionIterArg(advance.index);
    Value step = advance.step();
    if (!step)
      step = arith::ConstantOp::create(rewriter, loc, advance.constant);
    if (step.getType() != carried.getType())
      step = arith::ExtSIOp::create(rewriter, loc, carried.getType(), step);
    yield->setOperand(advance.index, arith::AddIOp::create(rewriter, loc, carried, step));
  }
  rewriter.setInsertionPointAfter(replacement);
  SmallVector<Value> results(replacement.getResults());
  for (auto [advance, tile] : llvm::zip(advances, tiles))
    results[advance.index] = loop.getResult(advance.index).use_empty()
                                 ? tile
                                 : advanced(rewriter, loc, tile, results[advance.index], advance.isPointer);
  rewriter.replaceOp(loop, results);
}

} // namespace

void splitLoopCarriedOffsets(Operation *root) {
  SmallVector<scf::ForOp> loops;
  root->walk([&](scf::ForOp loop) { loops.push_back(loop); }); // inner loops first
  for (scf::ForOp loop : loops) {
    SmallVector<Advance> advances;
    for (unsigned i = 0; i < loop.getInitArgs().size(); ++i)
      if (auto advance = matchAdvance(loop, i))
        advances.push_back(*advance);
    if (!advances.empty())
      rewrite(loop, advances);
  }
}

} // namespace tegula::transforms
