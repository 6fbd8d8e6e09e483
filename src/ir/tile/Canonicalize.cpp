// Patterns that make programs smaller and the same: scalars stay scalars (what is one
// value for the whole tile is computed once), masks that are constant disappear.
#include "ir/tile/Elementwise.h"
#include "ir/tile/Ranges.h"
#include "ir/tile/Saturation.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace tegula::tile {

namespace {

// May the op work on scalars instead of splats of them?
bool hasScalarForm(Operation *op) {
  // Packed elements are neighbours in a tile; a scalar has none.
  if (auto inlineAsm = dyn_cast<ElementwiseInlineAsmOp>(op); inlineAsm && inlineAsm.getPackedElement() != 1)
    return false;
  return op->getNumResults() == 1 && op->getNumRegions() == 0 && isMemoryEffectFree(op) && isElementwise(op);
}

DenseElementsAttr splatConstant(Value value) {
  DenseElementsAttr dense;
  return matchPattern(value, m_Constant(&dense)) && dense && dense.isSplat() ? dense : DenseElementsAttr();
}

// f(splat x, splat y) -> splat f(x, y), when an operand is a tt.splat. Of constants alone
// the op's own folder takes care.
struct ComputeSplatsAsScalars : RewritePattern {
  explicit ComputeSplatsAsScalars(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!hasScalarForm(op) || !isa<RankedTensorType>(op->getResult(0).getType()))
      return failure();
    bool anySplat = false;
    for (Value operand : op->getOperands()) {
      if (operand.getDefiningOp<SplatOp>())
        anySplat = true;
      else if (isa<RankedTensorType>(operand.getType()) && !splatConstant(operand))
        return failure();
    }
    if (!anySplat)
      return failure();
    SmallVector<Value> scalars;
    for (Value operand : op->getOperands())
      scalars.push_back(scalarOf(operand, rewriter));
    OperationState state(op->getLoc(), op->getName());
    state.addOperands(scalars);
    state.addTypes(elementType(op->getResult(0).getType()));
    state.addAttributes(attributesOfScalar(op, rewriter));
    Operation *scalar = rewriter.create(state);
    rewriter.replaceOpWithNewOp<SplatOp>(op, op->getResult(0).getType(), scalar->getResult(0));
    return success();
  }

  // Hints have one entry a dimension; a scalar has one for divisibility and no runs.
  static SmallVector<NamedAttribute> attributesOfScalar(Operation *op, PatternRewriter &rewriter) {
    SmallVector<NamedAttribute> attributes;
    for (NamedAttribute attribute : op->getAttrs()) {
      auto hint = dyn_cast<DenseI64ArrayAttr>(attribute.getValue());
      if (!hint || !attribute.getName().getValue().starts_with("tt."))
        attributes.push_back(attribute);
      else if (attribute.getName() == "tt.divisibility" && !hint.empty())
        attributes.emplace_back(attribute.getName(), rewriter.getDenseI64ArrayAttr(hint[0]));
    }
    return attributes;
  }

  static Value scalarOf(Value operand, PatternRewriter &rewriter) {
    if (auto splat = operand.getDefiningOp<SplatOp>())
      return splat.getValue();
    if (auto dense = splatConstant(operand))
      return arith::ConstantOp::create(rewriter, operand.getLoc(),
                                       cast<TypedAttr>(dense.getSplatValue<Attribute>()));
    return operand;
  }
};

// The shape of a splat is nothing but its type.
template <class Op> struct ReshapeSplat : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    auto splat = op.getValue().template getDefiningOp<SplatOp>();
    if (!splat)
      return failure();
    rewriter.replaceOpWithNewOp<SplatOp>(op, op.getType(), splat.getValue());
    return success();
  }
};

// Op(Op(x)) -> Op(x), where the outer one says it all.
template <class Op> struct SkipInner : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    auto inner = op.getValue().template getDefiningOp<Op>();
    if (!inner)
      return failure();
    rewriter.modifyOpInPlace(op, [&] { op.getValueMutable().assign(inner.getValue()); });
    return success();
  }
};

// The shapes on the way do not matter: reshape(expand_dims(x)) -> reshape(x).
struct ReshapeOfExpanded : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getValue().getDefiningOp<ExpandDimsOp>();
    if (!inner)
      return failure();
    rewriter.modifyOpInPlace(op, [&] { op.getValueMutable().assign(inner.getValue()); });
    return success();
  }
};

// The dimensions of the operand that the reshape keeps, if it does nothing but drop others, of extent 1.
std::optional<SmallVector<unsigned>> keptDims(ReshapeOp reshape) {
  ArrayRef<int64_t> before = shapeOf(reshape.getValue().getType()), after = shapeOf(reshape.getType());
  SmallVector<unsigned> kept;
  for (auto [dim, extent] : llvm::enumerate(before))
    if (kept.size() != after.size() && extent == after[kept.size()])
      kept.push_back(unsigned(dim));
    else if (extent != 1)
      return std::nullopt;
  bool isWhole = kept.size() == after.size() && kept.size() < before.size();
  return isWhole ? std::optional(kept) : std::nullopt;
}

// The same elements without the other dimensions, which have extent 1.
Value withDims(Value tile, ArrayRef<unsigned> kept, PatternRewriter &rewriter) {
  auto type = dyn_cast<RankedTensorType>(tile.getType());
  if (!type)
    return tile;
  SmallVector<int64_t> extents;
  for (unsigned dim : kept)
    extents.push_back(type.getDimSize(dim));
  return ReshapeOp::create(rewriter, tile.getLoc(), RankedTensorType::get(extents, type.getElementType()),
                           tile);
}

// Has the op hints, which have an entry a dimension?
bool hasHints(Operation *op) {
  return llvm::any_of(op->getAttrs(), [](NamedAttribute attribute) {
    return isa<DenseI64ArrayAttr>(attribute.getValue()) && attribute.getName().getValue().starts_with("tt.");
  });
}

// A product takes tiles of a batch of one without the batch's dimension: they are loaded, and computed,
// without it, too, where nothing else needs it. reshape(load(p)) -> load(reshape(p)).
struct DropDimsOfSource : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &rewriter) const override {
    Operation *source = op.getValue().getDefiningOp();
    if (cast<RankedTensorType>(op.getValue().getType()).getEncoding())
      return failure(); // a layout is of all dimensions
    std::optional<SmallVector<unsigned>> kept = keptDims(op);
    if (!kept || !source || !source->hasOneUse() || hasHints(source))
      return failure();
    if (!isa<LoadOp, BroadcastOp>(source) && !hasScalarForm(source))
      return failure();
    rewriter.setInsertionPoint(source);
    IRMapping operands;
    for (Value operand : source->getOperands())
      if (!operands.contains(operand))
        operands.map(operand, withDims(operand, *kept, rewriter));
    Operation *copy = rewriter.clone(*source, operands);
    copy->getResult(0).setType(op.getType());
    rewriter.replaceOp(op, copy->getResult(0));
    rewriter.eraseOp(source); // also a volatile load
    return success();
  }
};

struct ComposeTransposes : OpRewritePattern<TransOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(TransOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getValue().getDefiningOp<TransOp>();
    if (!inner)
      return failure();
    SmallVector<int32_t> order;
    for (int32_t source : op.getOrder())
      order.push_back(inner.getOrder()[source]);
    rewriter.replaceOpWithNewOp<TransOp>(op, op.getType(), inner.getValue(), order);
    return success();
  }
};

// True or false for all elements, if that is known.
std::optional<bool> constantMask(Value mask) {
  if (auto splat = mask.getDefiningOp<SplatOp>())
    mask = splat.getValue();
  APInt value;
  if (matchPattern(mask, m_ConstantInt(&value)))
    return !value.isZero();
  return std::nullopt;
}

struct LoadUnderConstantMask : OpRewritePattern<LoadOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(LoadOp op, PatternRewriter &rewriter) const override {
    auto mask = op.getMask() ? constantMask(op.getMask()) : std::nullopt;
    if (!mask)
      return failure();
    if (*mask) {
      rewriter.modifyOpInPlace(op, [&] {
        op.getMaskMutable().clear();
        op.getOtherMutable().clear();
      });
    } else if (op.getOther()) {
      rewriter.replaceOp(op, op.getOther());
    } else {
      TypedAttr zero = rewriter.getZeroAttr(op.getType());
      if (!zero) // pointers have no constants
        return failure();
      rewriter.replaceOpWithNewOp<arith::ConstantOp>(op, zero);
    }
    return success();
  }
};

struct StoreUnderConstantMask : OpRewritePattern<StoreOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(StoreOp op, PatternRewriter &rewriter) const override {
    auto mask = op.getMask() ? constantMask(op.getMask()) : std::nullopt;
    if (!mask)
      return failure();
    if (*mask)
      rewriter.modifyOpInPlace(op, [&] { op.getMaskMutable().clear(); });
    else
      rewriter.eraseOp(op);
    return success();
  }
};

struct AtomicUnderConstantMask : OpRewritePattern<AtomicRMWOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AtomicRMWOp op, PatternRewriter &rewriter) const override {
    auto mask = op.getMask() ? constantMask(op.getMask()) : std::nullopt;
    if (!mask)
      return failure();
    if (*mask) {
      rewriter.modifyOpInPlace(op, [&] { op.getMaskMutable().clear(); });
      return success();
    }
    TypedAttr zero = rewriter.getZeroAttr(op.getType());
    if (!zero) // pointers have no constants
      return failure();
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(op, zero);
    return success();
  }
};

// One element along the axis is the result.
struct ReduceOneElement : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReduceOp op, PatternRewriter &rewriter) const override {
    if (shapeOf(op.getOperands()[0].getType())[op.getAxis()] != 1)
      return failure();
    SmallVector<Value> results;
    for (auto [operand, result] : llvm::zip_equal(op.getOperands(), op.getResults()))
      results.push_back(
          isa<RankedTensorType>(result.getType())
              ? ReshapeOp::create(rewriter, op.getLoc(), result.getType(), operand).getResult()
              : UnsplatOp::create(rewriter, op.getLoc(), result.getType(), operand).getResult());
    rewriter.replaceOp(op, results);
    return success();
  }
};

// One element along the axis is what is combined so far.
struct ScanOneElement : OpRewritePattern<ScanOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ScanOp op, PatternRewriter &rewriter) const override {
    if (shapeOf(op.getOperands()[0].getType())[op.getAxis()] != 1)
      return failure();
    rewriter.replaceOp(op, op.getOperands());
    return success();
  }
};

// A check that is true says nothing.
struct AssertTrue : OpRewritePattern<AssertOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AssertOp op, PatternRewriter &rewriter) const override {
    if (!constantMask(op.getCondition()).value_or(false))
      return failure();
    rewriter.eraseOp(op);
    return success();
  }
};

// c + dot(a, b, 0) -> dot(a, b, c): the order of a sum is nobody's promise (N15). Where the dot's result is
// narrower than its sums, it is if it is widened for the addition alone, which then has all of their bits.
template <typename Add> struct AddIntoDot : OpRewritePattern<Add> {
  using OpRewritePattern<Add>::OpRewritePattern;

  LogicalResult matchAndRewrite(Add op, PatternRewriter &rewriter) const override {
    for (auto [product, other] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
      auto wide = product.template getDefiningOp<arith::ExtFOp>();
      if (wide && (!wide->hasOneUse() || !elementType(wide.getType()).isF32()))
        continue;
      auto dot = (wide ? wide.getIn() : product).template getDefiningOp<DotOp>();
      if (!dot || !dot->hasOneUse())
        continue;
      Type sum = elementType(dot.getType());
      if ((sum.isF16() || sum.isBF16()) != bool(wide))
        continue;
      if (!matchPattern(dot.getAcc(), m_Zero()) && !matchPattern(dot.getAcc(), m_AnyZeroFloat()))
        continue;
      rewriter.replaceOpWithNewOp<DotOp>(op, op.getType(), dot.getA(), dot.getB(), other, dot.getPrecision());
      return success();
    }
    return failure();
  }
};

} // namespace

void TileDialect::getCanonicalizationPatterns(RewritePatternSet &patterns) const {
  patterns.add<ComputeSplatsAsScalars, ReshapeSplat<ExpandDimsOp>, ReshapeSplat<BroadcastOp>,
               ReshapeSplat<ReshapeOp>, ReshapeSplat<TransOp>, SkipInner<BroadcastOp>, SkipInner<ReshapeOp>,
               ReshapeOfExpanded, DropDimsOfSource, ComposeTransposes, LoadUnderConstantMask,
               StoreUnderConstantMask, AtomicUnderConstantMask, ReduceOneElement, ScanOneElement, AssertTrue,
               AddIntoDot<arith::AddFOp>, AddIntoDot<arith::AddIOp>>(patterns.getContext());
  addRangePatterns(patterns);
  addSaturationPatterns(patterns);
}

} // namespace tegula::tile
