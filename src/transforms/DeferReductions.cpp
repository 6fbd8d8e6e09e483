#include "transforms/DeferReductions.h"
#include "ir/simt/Scratch.h"
#include "ir/simt/Simt.h"
#include "layout/Queries.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace tegula::tile;
using tegula::layout::Axis;
using tegula::layout::Layout;

namespace tegula::transforms {

namespace {

// ---- the op that a loop and a reduction combine by ----

// The only op of the reduction's function, of both of its arguments; null: there is more to it.
Operation *combinerOf(ReduceOp reduce) {
  Block &body = reduce.getCombine().front();
  Operation &only = body.front(), *last = body.getTerminator();
  bool takesBoth = only.getNumOperands() == 2 && only.getOperand(0) != only.getOperand(1) &&
                   llvm::all_of(only.getOperands(),
                                [&](Value each) { return llvm::is_contained(body.getArguments(), each); });
  return reduce.getNumOperands() == 1 && only.getNextNode() == last && only.getNumResults() == 1 &&
                 takesBoth && last->getOperand(0) == only.getResult(0)
             ? &only
             : nullptr;
}

// The value that changes nothing where it is combined; null: the op may not be moved out of its order. Floats
// of 16 bits and fewer are rounded behind each op.
TypedAttr identityOf(Operation *combiner, Type element) {
  Builder builder(element.getContext());
  if (auto type = dyn_cast<FloatType>(element)) {
    const llvm::fltSemantics &semantics = type.getFloatSemantics();
    auto of = [&](llvm::APFloat value) { return TypedAttr(builder.getFloatAttr(type, value)); };
    bool isWide = type.isF32() || type.isF64();
    return llvm::TypeSwitch<Operation *, TypedAttr>(combiner)
        .Case([&](arith::AddFOp) { return isWide ? of(llvm::APFloat::getZero(semantics, true)) : nullptr; })
        .Case([&](arith::MulFOp) { return isWide ? of(llvm::APFloat::getOne(semantics)) : nullptr; })
        .Case<arith::MaxNumFOp, arith::MinNumFOp>([&](auto) { return of(llvm::APFloat::getNaN(semantics)); })
        .Case([&](arith::MaximumFOp) { return of(llvm::APFloat::getInf(semantics, true)); })
        .Case([&](arith::MinimumFOp) { return of(llvm::APFloat::getInf(semantics)); })
        .Default([](Operation *) { return nullptr; });
  }
  auto type = dyn_cast<IntegerType>(element);
  if (!type)
    return nullptr;
  unsigned bits = type.getWidth();
  auto of = [&](llvm::APInt value) { return TypedAttr(builder.getIntegerAttr(type, value)); };
  return llvm::TypeSwitch<Operation *, TypedAttr>(combiner)
      .Case<arith::AddIOp, arith::OrIOp, arith::XOrIOp, arith::MaxUIOp>(
          [&](auto) { return of(llvm::APInt::getZero(bits)); })
      .Case<arith::AndIOp, arith::MinUIOp>([&](auto) { return of(llvm::APInt::getAllOnes(bits)); })
      .Case([&](arith::MulIOp) { return of(llvm::APInt(bits, 1)); })
      .Case([&](arith::MaxSIOp) { return of(llvm::APInt::getSignedMinValue(bits)); })
      .Case([&](arith::MinSIOp) { return of(llvm::APInt::getSignedMaxValue(bits)); })
      .Default([](Operation *) { return nullptr; });
}

// ---- what a thread holds of a tile, along an axis ----

// The axis cut into dimensions that move within a thread and dimensions that move over threads, by turns.
struct Cut {
  SmallVector<int64_t> extents;
  SmallVector<bool> isOverThreads; // of each of them
};

// None where the threads do not take turns by powers of two, or hold all of the axis.
std::optional<Cut> cut(const Layout &layout, unsigned axis) {
  if (layout.extents()[axis] != layout.hull(axis))
    return std::nullopt;
  unsigned bits = layout.hullBits(axis), found = 0;
  uint32_t overThreads = 0;
  for (Axis hardware : {Axis::Register, Axis::Lane, Axis::Warp})
    for (auto [i, basis] : llvm::enumerate(layout.bases(hardware))) {
      if (!(basis & layout.dimMask(axis)) || (layout.freeBits(hardware) >> i & 1))
        continue;
      if (!llvm::has_single_bit(basis))
        return std::nullopt;
      ++found;
      if (hardware != Axis::Register)
        overThreads |= basis >> layout.shift(axis);
    }
  if (found != bits || !overThreads)
    return std::nullopt;
  Cut result;
  for (unsigned bit = bits; bit-- != 0;) {
    bool isOver = overThreads >> bit & 1;
    if (result.extents.empty() || result.isOverThreads.back() != isOver) {
      result.extents.push_back(1);
      result.isOverThreads.push_back(isOver);
    }
    result.extents.back() *= 2;
  }
  return result;
}

Value reshape(OpBuilder &builder, Value tile, ArrayRef<int64_t> extents) {
  auto type = cast<RankedTensorType>(tile.getType());
  if (type.getShape() == extents)
    return tile;
  Layout layout = *simt::layoutOf(tile).reshaped({extents.begin(), extents.end()});
  Type result = simt::withLayout(RankedTensorType::get(extents, type.getElementType()), layout);
  return ReshapeOp::create(builder, tile.getLoc(), result, tile, UnitAttr());
}

// The tile combined along `axis`, as `like` combines.
Value reduceLike(OpBuilder &builder, ReduceOp like, Value tile, unsigned axis) {
  auto type = cast<RankedTensorType>(tile.getType());
  Type result = type.getElementType();
  if (type.getRank() != 1) {
    SmallVector<int64_t> extents(type.getShape());
    extents.erase(extents.begin() + axis);
    result = simt::withLayout(RankedTensorType::get(extents, result), simt::layoutOf(tile).sliced(axis));
  }
  auto made = ReduceOp::create(builder, like.getLoc(), TypeRange(result), ValueRange(tile), axis);
  IRMapping none;
  like.getCombine().cloneInto(&made.getCombine(), none);
  return made.getResult(0);
}

// Each thread's own elements combined: a tile whose axis has an element for each of the threads along it.
Value partialOf(OpBuilder &builder, ReduceOp reduce, const Cut &cut) {
  unsigned axis = reduce.getAxis();
  Value tile = reduce.getOperands()[0];
  SmallVector<int64_t> extents(cast<RankedTensorType>(tile.getType()).getShape()), whole = extents;
  extents.erase(extents.begin() + axis);
  extents.insert(extents.begin() + axis, cut.extents.begin(), cut.extents.end());
  tile = reshape(builder, tile, extents);
  int64_t threads = 1;
  for (unsigned i = unsigned(cut.extents.size()); i-- != 0;)
    if (cut.isOverThreads[i])
      threads *= cut.extents[i];
    else
      tile = reduceLike(builder, reduce, tile, axis + i);
  whole[axis] = threads;
  return reshape(builder, tile, whole);
}

// ---- loops ----

// A value that a loop carries from one op to the next, up to the end of the trip: combined with reductions,
// and scaled between.
class Accumulation {
public:
  Accumulation(scf::ForOp loop, unsigned index) : loop_(loop), index_(index) {}

  // Follows the carried value to the end of the trip. False: the loop does something else with it.
  bool find() {
    Value at = loop_.getRegionIterArg(index_);
    while (at.hasOneUse()) {
      OpOperand &use = *at.use_begin();
      Operation *op = use.getOwner();
      if (op->getBlock() != loop_.getBody())
        return false;
      if (op == loop_.getBody()->getTerminator())
        return use.getOperandNumber() == index_ && !reductions_.empty() && agree();
      if (!isStep(op, use.getOperandNumber()))
        return false;
      steps_.push_back({op, use.getOperandNumber()});
      at = op->getResult(0);
    }
    return false;
  }

  // The loop that stands in its place.
  scf::ForOp rewrite() {
    ReduceOp first = reductions_.front().second;
    unsigned axis = first.getAxis();
    OpBuilder builder(loop_);
    Value begin = isScaled_ ? share(builder, loop_.getInitArgs()[index_], axis)
                            : constantOf(builder, first.getLoc(), identity_);
    llvm::DenseMap<Value, Value> partials;
    for (auto [value, reduce] : reductions_) {
      builder.setInsertionPoint(reduce);
      partials[value] = partialOf(builder, reduce, *cut(simt::layoutOf(reduce.getOperands()[0]), axis));
    }
    IRRewriter rewriter(loop_.getContext());
    rewriter.setInsertionPoint(loop_);
    auto replaced =
        loop_.replaceWithAdditionalYields(rewriter, begin, /*replaceInitOperandUsesInLoop=*/false,
                                          [&](OpBuilder &inner, Location, ArrayRef<BlockArgument> carried) {
                                            Value at = carried.front();
                                            for (Step step : steps_)
                                              at = again(inner, step, at, partials, axis);
                                            return SmallVector<Value>{at};
                                          });
    loop_ = cast<scf::ForOp>(replaced->getOperation());
    dropReductions(rewriter);
    finish(rewriter, first);
    for (auto [value, reduce] : reductions_) {
      if (value.getDefiningOp() != reduce)
        rewriter.eraseOp(value.getDefiningOp());
      rewriter.eraseOp(reduce);
    }
    return loop_;
  }

  Location loc() { return reductions_.front().second.getLoc(); }

private:
  struct Step {
    Operation *op;
    unsigned carried; // the operand that the steps before it give
  };

  // The reduction of the trip whose result the value is, in whichever layout, if nothing else reads it.
  ReduceOp reductionOf(Value value) {
    if (!value.hasOneUse())
      return {};
    if (auto convert = value.getDefiningOp<simt::ConvertOp>(); convert && convert.getValue().hasOneUse())
      value = convert.getValue();
    auto reduce = value.getDefiningOp<ReduceOp>();
    return reduce && reduce->getBlock() == loop_.getBody() ? reduce : ReduceOp();
  }

  bool isStep(Operation *op, unsigned carried) {
    // The operand that may be a reduction, and those that scale.
    std::optional<unsigned> added;
    if (isa<math::FmaOp>(op) && carried != 2) {
      added = 2;
      isScaled_ = true;
    } else if (op->getNumOperands() == 2 && op->getNumResults() == 1) {
      added = 1 - carried;
    }
    ReduceOp reduce = added ? reductionOf(op->getOperand(*added)) : ReduceOp();
    if (!reduce) {
      isScaled_ = true;
      return isa<arith::MulFOp>(op);
    }
    Operation *combiner = combinerOf(reduce);
    bool subtracts = carried == 0 && ((isa<arith::SubFOp>(op) && isa_and_nonnull<arith::AddFOp>(combiner)) ||
                                      (isa<arith::SubIOp>(op) && isa_and_nonnull<arith::AddIOp>(combiner)));
    bool adds = isa<math::FmaOp>(op) && isa_and_nonnull<arith::AddFOp>(combiner);
    reductions_.push_back({op->getOperand(*added), reduce});
    return combiner && (subtracts || adds || combiner->getName() == op->getName());
  }

  // Do all reductions combine by one op, and leave partial results of one kind?
  bool agree() {
    ReduceOp first = reductions_.front().second;
    unsigned axis = first.getAxis();
    Type element = elementType(loop_.getRegionIterArg(index_).getType());
    Operation *combiner = combinerOf(first);
    identity_ = identityOf(combiner, element);
    if (!identity_ || (isScaled_ && !isa<arith::AddFOp>(combiner)))
      return false;
    for (auto [value, reduce] : reductions_) {
      if (reduce.getAxis() != axis || combinerOf(reduce)->getName() != combiner->getName())
        return false;
      Layout source = simt::layoutOf(reduce.getOperands()[0]);
      std::optional<Cut> pieces = cut(source, axis);
      if (!pieces)
        return false;
      std::optional<RankedTensorType> type = partialTypeOf(reduce, source, *pieces);
      if (!type || (partialType_ && partialType_ != *type))
        return false;
      partialType_ = *type;
      Layout partial = simt::layoutOf(partialType_);
      bool isTile = source.rank() > 1;
      if (isTile && partial.sliced(axis) != simt::layoutOf(reduce.getResult(0)))
        return false;
      // Scales are spread over the threads along the axis, as they lie.
      if (isTile && isScaled_ &&
          ((value.getDefiningOp() != reduce && !scalesAreUniform()) ||
           partial.narrowed(axis) != simt::layoutOf(reduce.getResult(0)).expanded(axis)))
        return false;
    }
    return true;
  }

  // Is all that scales one number for the whole tile, in whichever layout?
  bool scalesAreUniform() const {
    return llvm::all_of(steps_, [&](Step step) {
      return llvm::all_of(step.op->getOpOperands(), [&](OpOperand &operand) {
        bool isSummand =
            llvm::any_of(reductions_, [&](const auto &each) { return each.first == operand.get(); });
        return operand.getOperandNumber() == step.carried || isSummand || isUniform(operand.get());
      });
    });
  }
  static bool isUniform(Value scale) {
    DenseElementsAttr elements;
    return scale.getDefiningOp<SplatOp>() ||
           (matchPattern(scale, m_Constant(&elements)) && elements.isSplat());
  }

  static std::optional<RankedTensorType> partialTypeOf(ReduceOp reduce, const Layout &source,
                                                       const Cut &cut) {
    unsigned axis = reduce.getAxis();
    std::vector<int64_t> extents = source.extents(), whole = extents;
    extents.erase(extents.begin() + axis);
    extents.insert(extents.begin() + axis, cut.extents.begin(), cut.extents.end());
    std::optional<Layout> layout = source.reshaped(extents);
    whole[axis] = 1;
    for (unsigned i = unsigned(cut.extents.size()); i-- != 0 && layout;)
      if (cut.isOverThreads[i])
        whole[axis] *= cut.extents[i];
      else
        layout = layout->sliced(axis + i);
    if (layout)
      layout = layout->reshaped(whole);
    if (!layout)
      return std::nullopt;
    return simt::withLayout(RankedTensorType::get(whole, elementType(reduce.getResult(0).getType())),
                            *layout);
  }

  // The step on partial results.
  Value again(OpBuilder &builder, Step step, Value carried, const llvm::DenseMap<Value, Value> &partials,
              unsigned axis) {
    SmallVector<Value> operands;
    for (OpOperand &operand : step.op->getOpOperands())
      if (operand.getOperandNumber() == step.carried)
        operands.push_back(carried);
      else if (Value partial = partials.lookup(operand.get()))
        operands.push_back(partial);
      else
        operands.push_back(spread(builder, operand.get(), axis));
    return builder
        .create(step.op->getLoc(), step.op->getName().getIdentifier(), operands, TypeRange(partialType_),
                step.op->getAttrs())
        ->getResult(0);
  }

  // A scale for all threads along the axis.
  Value spread(OpBuilder &builder, Value scale, unsigned axis) const {
    auto type = dyn_cast<RankedTensorType>(scale.getType());
    if (!type)
      return SplatOp::create(builder, scale.getLoc(), partialType_, scale);
    if (auto splat = scale.getDefiningOp<SplatOp>())
      return SplatOp::create(builder, scale.getLoc(), partialType_, splat.getValue());
    DenseElementsAttr elements;
    if (matchPattern(scale, m_Constant(&elements)) && elements.isSplat())
      return constantOf(builder, scale.getLoc(), elements.getSplatValue<Attribute>());
    SmallVector<int64_t> extents(type.getShape());
    extents.insert(extents.begin() + axis, 1);
    Type expanded = simt::withLayout(RankedTensorType::get(extents, type.getElementType()),
                                     simt::layoutOf(scale).expanded(axis));
    Value row = ExpandDimsOp::create(builder, scale.getLoc(), expanded, scale, axis);
    return BroadcastOp::create(builder, scale.getLoc(), partialType_, row);
  }

  Value constantOf(OpBuilder &builder, Location loc, Attribute element) const {
    return arith::ConstantOp::create(builder, loc, partialType_,
                                     DenseElementsAttr::get(partialType_, element));
  }

  // Of a value that is scaled on the way each thread along the axis begins with its part: the one that a loop
  // before left it, or one as large as all others.
  Value share(OpBuilder &builder, Value whole, unsigned axis) const {
    Location loc = whole.getLoc();
    if (auto reduce = whole.getDefiningOp<ReduceOp>(); reduce && reduce.getAxis() == axis &&
                                                       isa_and_nonnull<arith::AddFOp>(combinerOf(reduce)) &&
                                                       reduce.getOperands()[0].getType() == partialType_)
      return reduce.getOperands()[0];
    // As the reductions leave it, which the loop may carry in another layout.
    ReduceOp first = reductions_.front().second;
    Type reduced = first.getResult(0).getType();
    if (whole.getType() != reduced && !isUniform(whole))
      whole = simt::ConvertOp::create(builder, loc, reduced, whole, simt::ConversionAttr());
    double part = 1.0 / double(partialType_.getShape()[axis]);
    Value parts = constantOf(builder, loc, builder.getFloatAttr(partialType_.getElementType(), part));
    return builder.createOrFold<arith::MulFOp>(loc, spread(builder, whole, axis), parts);
  }

  // The value that was carried before stays as it was ahead of the loop, if threads share it, or is what the
  // steps do besides.
  void dropReductions(IRRewriter &rewriter) {
    if (isScaled_) {
      auto yield = cast<scf::YieldOp>(loop_.getBody()->getTerminator());
      yield.setOperand(index_, loop_.getRegionIterArg(index_));
    }
    for (Step step : llvm::reverse(steps_)) {
      Value carried = step.op->getOperand(step.carried);
      rewriter.setInsertionPoint(step.op);
      if (isScaled_)
        rewriter.eraseOp(step.op);
      else
        rewriter.replaceOp(step.op, carried);
    }
  }

  // Behind the loop the threads combine what they have, and what the loop began with.
  void finish(IRRewriter &rewriter, ReduceOp like) {
    rewriter.setInsertionPointAfter(loop_);
    Value before = loop_.getResult(index_);
    Value all = reduceLike(rewriter, like, loop_.getResults().back(), like.getAxis());
    if (all.getType() != before.getType())
      all = simt::ConvertOp::create(rewriter, all.getLoc(), before.getType(), all, simt::ConversionAttr());
    if (isScaled_) {
      before.replaceAllUsesWith(all);
      return;
    }
    Operation *combined =
        rewriter.create(like.getLoc(), combinerOf(like)->getName().getIdentifier(), ValueRange{before, all},
                        TypeRange(before.getType()), combinerOf(like)->getAttrs());
    before.replaceAllUsesExcept(combined->getResult(0), combined);
  }

  scf::ForOp loop_;
  unsigned index_; // of the carried value
  SmallVector<Step> steps_;
  SmallVector<std::pair<Value, ReduceOp>> reductions_; // with the value in which a step reads each
  bool isScaled_ = false;
  RankedTensorType partialType_;
  TypedAttr identity_;
};

// A value that is carried and never changed is taken from ahead of the loop: loads of a loop that carries one
// do not become copies (PlanCopies).
void foldUnchanged(scf::ForOp loop) {
  RewritePatternSet patterns(loop.getContext());
  scf::ForOp::getCanonicalizationPatterns(patterns, loop.getContext());
  GreedyRewriteConfig config;
  config.setStrictness(GreedyRewriteStrictness::ExistingOps);
  // If it stops early, the loop is right, too.
  (void)applyOpPatternsGreedily(loop.getOperation(), std::move(patterns), config);
}

} // namespace

void deferReductions(Operation *function, std::vector<diag::Remark> &remarks) {
  SmallVector<scf::ForOp> loops;
  function->walk([&](scf::ForOp loop) { loops.push_back(loop); });
  for (scf::ForOp loop : loops) {
    bool isChanged = false;
    for (unsigned index = 0, count = loop.getNumRegionIterArgs(); index != count; ++index) {
      Accumulation accumulation(loop, index);
      if (!accumulation.find())
        continue;
      remarks.push_back({locationText(accumulation.loc()), "reduce",
                         "each thread combines its own elements in the loop, all threads once behind it"});
      loop = accumulation.rewrite();
      isChanged = true;
    }
    if (isChanged)
      foldUnchanged(loop);
  }
}

} // namespace tegula::transforms
