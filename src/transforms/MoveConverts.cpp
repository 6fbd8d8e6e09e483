#include "transforms/MoveConverts.h"
#include "ir/simt/Scratch.h"
#include "ir/simt/Simt.h"
#include "layout/Conversion.h"

#include "mlir/IR/Iterators.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace tegula::tile;
using tegula::layout::Layout;

namespace tegula::transforms {

namespace {

bool isTile(Value value) { return isa<RankedTensorType>(value.getType()); }

// The same value for every element, made from a scalar.
bool isUniform(Value value) {
  if (auto constant = value.getDefiningOp<arith::ConstantOp>())
    return isa<SplatElementsAttr>(constant.getValue());
  return value.getDefiningOp<SplatOp>() != nullptr;
}

// The operand that an op of the chain computes its result from, element by element or by moving elements
// (another conversion, too); null for other ops.
OpOperand *sourceOf(Operation *op) {
  if (op->getNumResults() != 1 || !op->hasOneUse() || !isMemoryEffectFree(op) || op->getNumRegions())
    return nullptr;
  if (isa<TransOp, simt::ConvertOp>(op))
    return &op->getOpOperand(0);
  if (!op->hasTrait<OpTrait::Elementwise>())
    return nullptr;
  OpOperand *source = nullptr;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isTile(operand.get()) || isUniform(operand.get()))
      continue;
    if (source)
      return nullptr;
    source = &operand;
  }
  return source;
}

// Does the chain above the convert end at a load?
bool comesFromLoad(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (isa<LoadOp>(op))
      return true;
    OpOperand *source = sourceOf(op);
    if (!source)
      return false;
    value = source->get();
  }
  return false;
}

// If nothing but moves lies between a load and the convert, gives the convert moves of its own: it can then
// stand at the load, whatever else reads the moved tile.
void separateMoves(simt::ConvertOp convert) {
  auto isMove = [](Operation *op) { return isa_and_nonnull<TransOp, simt::ConvertOp>(op); };
  Value source = convert.getValue();
  while (isMove(source.getDefiningOp()))
    source = source.getDefiningOp()->getOperand(0);
  if (!isa_and_nonnull<LoadOp>(source.getDefiningOp()))
    return;
  OpOperand *use = &convert.getValueMutable();
  while (Operation *op = use->get() == source ? nullptr : use->get().getDefiningOp()) {
    if (!op->hasOneUse()) {
      op = OpBuilder(op).clone(*op);
      use->set(op->getResult(0));
    }
    use = &op->getOpOperand(0);
  }
}

// Does an instruction of several warps read the tile in shared memory, and something compute it? It lies
// there as it was computed.
bool isReadComputed(simt::ConvertOp convert) {
  Value value = convert.getValue();
  while (isa_and_nonnull<TransOp, simt::ConvertOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return !value.getDefiningOp<LoadOp>() && llvm::any_of(convert->getUses(), [](OpOperand &use) {
    auto matrix = use.getOwner()->getAttrOfType<simt::MatrixAttr>(simt::matrixName);
    return matrix && matrix.getWarps() > 1 && use.getOperandNumber() == (matrix.getIsSwapped() ? 0u : 1u);
  });
}

// Do only loops behind the convert read the tile? They fetch it as it is then, from registers or, where those
// are crowded, from shared memory in each trip; what is computed beforehand would have to stay in registers.
bool isOfLoopsBehind(simt::ConvertOp convert) {
  return llvm::all_of(convert->getUsers(), [&](Operation *user) {
    auto loop = user->getParentOfType<LoopLikeOpInterface>();
    return loop && !loop->isAncestor(convert);
  });
}

Value uniformIn(OpBuilder &builder, Value uniform, const Layout &layout) {
  Operation *copy = builder.clone(*uniform.getDefiningOp());
  auto type = simt::withLayout(uniform.getType(), layout);
  copy->getResult(0).setType(type);
  if (auto constant = dyn_cast<arith::ConstantOp>(copy))
    constant.setValueAttr(cast<SplatElementsAttr>(constant.getValue()).resizeSplat(type));
  return copy->getResult(0);
}

// Conversions that were collected and are no more.
using Erased = llvm::SmallPtrSet<Operation *, 16>;

// `movesOnly`: not above ops that compute; `last`: up to that value, if it is given. Tells which conversions
// it erased: the one that moves is made anew, and those on its way are no more.
void hoist(simt::ConvertOp convert, bool movesOnly, Erased &erased, Value last = {}) {
  while (Operation *op = convert.getValue() == last ? nullptr : convert.getValue().getDefiningOp()) {
    OpOperand *source = isa<LoadOp>(op) ? nullptr : sourceOf(op);
    if (!source || (movesOnly && !isa<TransOp, simt::ConvertOp>(op)))
      return;
    if (auto twice = dyn_cast<simt::ConvertOp>(op)) {
      convert.getValueMutable().assign(twice.getValue());
      erased.insert(twice);
      twice.erase();
      continue;
    }
    Layout wanted = simt::layoutOf(convert.getResult()), before = wanted;
    if (auto trans = dyn_cast<TransOp>(op)) {
      std::vector<int32_t> inverse(trans.getOrder().size());
      for (auto [to, from] : llvm::enumerate(trans.getOrder()))
        inverse[size_t(from)] = int32_t(to);
      before = wanted.transposed(inverse);
    }
    OpBuilder builder(op);
    auto earlier =
        simt::ConvertOp::create(builder, convert.getLoc(), simt::withLayout(source->get().getType(), before),
                                source->get(), simt::ConversionAttr());
    for (OpOperand &operand : op->getOpOperands())
      if (&operand == source)
        operand.set(earlier);
      else if (isTile(operand.get()))
        operand.set(uniformIn(builder, operand.get(), before));
    op->getResult(0).setType(simt::withLayout(op->getResult(0).getType(), wanted));
    convert.getResult().replaceAllUsesWith(op->getResult(0));
    erased.insert(convert);
    convert.erase();
    convert = earlier;
  }
}

unsigned bitsOf(Value tile) { return elementType(tile.getType()).getIntOrFloatBitWidth(); }
bool isNumber(Value value) { return elementType(value.getType()).isIntOrFloat(); }

// Is a product computed from the value, or does a loop or branch hand it on? What products read is laid out
// for them by other passes.
bool mayReachProduct(Value value) {
  llvm::SetVector<Value> reached;
  reached.insert(value);
  for (unsigned i = 0; i != reached.size(); ++i)
    for (Operation *user : reached[i].getUsers()) {
      if (isa<DotOp>(user) || user->hasTrait<OpTrait::IsTerminator>())
        return true;
      for (Value result : user->getResults())
        if (isTile(result))
          reached.insert(result);
    }
  return false;
}

// The load that a conversion's operand is computed from, element by element by arithmetic of floats and for
// nothing else, if its elements have so few bits that it costs less to convert; null where the operand does,
// or threads would compute more behind the conversion. Integers that are taken apart stay where they are:
// their parts, of several bytes at once, come from the words that were loaded.
Value narrowLoadBehind(simt::ConvertOp convert) {
  Value value = convert.getValue();
  auto isFloat = [](Value tile) { return isa<FloatType>(elementType(tile.getType())); };
  if (!isFloat(value) || simt::registersOf(value.getType()) < simt::registersOf(convert.getType()))
    return {};
  while (isFloat(value) && !value.getDefiningOp<LoadOp>()) {
    Operation *op = value.getDefiningOp();
    OpOperand *source = !op || isa<TransOp, simt::ConvertOp>(op) || op->getBlock() != convert->getBlock()
                            ? nullptr
                            : sourceOf(op);
    if (!source || !isNumber(source->get()))
      return {};
    value = source->get();
  }
  if (!value.getDefiningOp<LoadOp>() || bitsOf(value) >= bitsOf(convert.getValue()))
    return {};
  const Layout from = simt::layoutOf(value), to = simt::layoutOf(convert.getResult());
  auto costOf = [&](Value tile) {
    return layout::planConversion(from, to, simt::storedBits(elementType(tile.getType()))).cost;
  };
  return costOf(value) < costOf(convert.getValue()) ? value : Value();
}

// Moves a conversion behind the casts that make its elements narrower, and what leads to them: less is moved.
void sink(simt::ConvertOp convert) {
  Value from = convert.getValue(), to = convert.getResult();
  if (!isNumber(from) || simt::registersOf(from.getType()) > simt::registersOf(to.getType()))
    return;
  SmallVector<Operation *> chain;
  size_t moved = 0;
  unsigned narrowest = bitsOf(from);
  for (Value value = to; value.hasOneUse();) {
    Operation *user = *value.user_begin();
    if (!user->hasTrait<OpTrait::Elementwise>() || user->getNumResults() != 1 || user->getNumRegions() ||
        user->getBlock() != convert->getBlock() || !isMemoryEffectFree(user) ||
        !isNumber(user->getResult(0)) || llvm::any_of(user->getOperands(), [&](Value operand) {
          return operand != value && isTile(operand) && !isUniform(operand);
        }))
      break;
    chain.push_back(user);
    value = user->getResult(0);
    if (bitsOf(value) < narrowest) {
      narrowest = bitsOf(value);
      moved = chain.size();
    }
  }
  if (!moved)
    return;
  Layout before = simt::layoutOf(from);
  Value last = chain[moved - 1]->getResult(0);
  if (llvm::any_of(last.getUsers(), [](Operation *user) { return user->hasAttr(simt::matrixName); }))
    return; // hoistConverts knows where those are best
  Type wanted = last.getType();
  OpBuilder builder(chain[moved - 1]);
  to.replaceAllUsesWith(from);
  for (Operation *op : llvm::ArrayRef(chain).take_front(moved)) {
    builder.setInsertionPoint(op);
    for (OpOperand &operand : op->getOpOperands())
      if (isTile(operand.get()) && simt::layoutOf(operand.get()) != before)
        operand.set(uniformIn(builder, operand.get(), before));
    op->getResult(0).setType(simt::withLayout(op->getResult(0).getType(), before));
  }
  builder.setInsertionPointAfterValue(last);
  auto later = simt::ConvertOp::create(builder, convert.getLoc(), wanted, last, simt::ConversionAttr());
  last.replaceAllUsesExcept(later, later);
  convert.erase();
}

// An op, and those that it alone reads, by which tiles that all are converted alike are computed with,
// element by element.
class ComputedOfConverts {
public:
  explicit ComputedOfConverts(Operation *last) : last_(last) {}

  // Converts the result in place of the tiles, if that costs less.
  void rewrite() {
    if (!add(last_) || converts_.size() < 2 || !isCheaper() ||
        llvm::any_of(last_->getUsers(), [](Operation *user) { return user->hasAttr(simt::matrixName); }))
      return;
    OpBuilder builder(last_);
    Type wanted = last_->getResult(0).getType();
    Layout before = layoutBefore();
    for (Operation *op : llvm::reverse(ops_)) { // operands first
      builder.setInsertionPoint(op);
      for (OpOperand &operand : op->getOpOperands())
        if (auto convert = operand.get().getDefiningOp<simt::ConvertOp>();
            convert && converts_.contains(convert))
          operand.set(convert.getValue());
        else if (isTile(operand.get()) && isUniform(operand.get()))
          operand.set(uniformIn(builder, operand.get(), before));
      op->getResult(0).setType(simt::withLayout(op->getResult(0).getType(), before));
    }
    builder.setInsertionPointAfter(last_);
    Value result = last_->getResult(0);
    auto later = simt::ConvertOp::create(builder, last_->getLoc(), wanted, result, simt::ConversionAttr());
    result.replaceAllUsesExcept(later, later);
    for (simt::ConvertOp convert : converts_)
      convert.erase();
  }

private:
  static constexpr size_t mostOps = 64; // beyond, all stay as they are

  // Collects the op, and those that it alone reads. False: some of it is not converted from that layout.
  bool add(Operation *op) {
    if (!isComputed(op) || op->getBlock() != last_->getBlock() || ops_.size() == mostOps)
      return false;
    ops_.push_back(op);
    for (Value operand : op->getOperands()) {
      if (!isTile(operand) || isUniform(operand))
        continue;
      Operation *from = operand.getDefiningOp();
      if (!from || !llvm::all_of(from->getUsers(), [&](Operation *user) { return user == op; }))
        return false;
      auto convert = dyn_cast<simt::ConvertOp>(from);
      if (!convert ? !add(from) : !add(convert))
        return false;
    }
    return true;
  }

  bool add(simt::ConvertOp convert) {
    converts_.insert(convert);
    return isNumber(convert.getValue()) && simt::layoutOf(convert.getValue()) == layoutBefore() &&
           simt::registersOf(convert.getValue().getType()) <= simt::registersOf(convert.getType());
  }

  static bool isComputed(Operation *op) {
    return op->hasTrait<OpTrait::Elementwise>() && op->getNumResults() == 1 && op->getNumRegions() == 0 &&
           isMemoryEffectFree(op) && isTile(op->getResult(0)) && isNumber(op->getResult(0));
  }

  Layout layoutBefore() const { return simt::layoutOf((*converts_.begin())->getOperand(0)); }

  bool isCheaper() const {
    Layout from = layoutBefore(), to = simt::layoutOf(last_->getResult(0));
    auto costOf = [&](Value tile) {
      return layout::planConversion(from, to, simt::storedBits(elementType(tile.getType()))).cost;
    };
    decltype(costOf(Value())) all = 0;
    for (simt::ConvertOp convert : converts_)
      all += costOf(convert.getValue());
    return costOf(last_->getResult(0)) < all;
  }

  Operation *last_;
  SmallVector<Operation *> ops_; // each behind those that read it
  llvm::SmallSetVector<simt::ConvertOp, 8> converts_;
};

// A tile that is converted back is taken from before that.
void dropReturn(simt::ConvertOp convert) {
  auto there = convert.getValue().getDefiningOp<simt::ConvertOp>();
  if (!there || there.getValue().getType() != convert.getType())
    return;
  convert.replaceAllUsesWith(there.getValue());
  convert.erase();
  if (there.use_empty())
    there.erase();
}

} // namespace

void sinkConverts(Operation *function) {
  SmallVector<Operation *> ends; // the last ones first
  function->walk<WalkOrder::PostOrder, ReverseIterator>([&](Operation *op) {
    if (op->hasTrait<OpTrait::Elementwise>())
      ends.push_back(op);
  });
  for (Operation *end : ends)
    ComputedOfConverts(end).rewrite();
  SmallVector<simt::ConvertOp> converts;
  function->walk([&](simt::ConvertOp convert) { converts.push_back(convert); });
  for (simt::ConvertOp convert : converts)
    sink(convert);
  converts.clear();
  function->walk([&](simt::ConvertOp convert) { converts.push_back(convert); });
  for (simt::ConvertOp convert : converts)
    dropReturn(convert);
}

void hoistConverts(Operation *function) {
  SmallVector<simt::ConvertOp> converts, others;
  function->walk([&](simt::ConvertOp convert) {
    bool isOperand =
        llvm::any_of(convert->getUsers(), [](Operation *user) { return user->hasAttr(simt::matrixName); });
    if (isOperand)
      separateMoves(convert);
    bool isFromLoad = isOperand && comesFromLoad(convert.getValue()) && !isReadComputed(convert);
    // Fewer registers behind it compute less.
    bool isSpread = simt::registersOf(convert.getValue().getType()) > simt::registersOf(convert.getType());
    // Many threads read each factor of multiply-adds, which is computed once.
    bool isFactor = llvm::any_of(convert->getUses(), simt::isFactorOfMultiplyAdds);
    if (isFromLoad || isFactor || (isSpread && !isOperand))
      converts.push_back(convert);
    else if (!isOperand && !mayReachProduct(convert.getResult()))
      others.push_back(convert);
  });
  Erased erased;
  for (simt::ConvertOp convert : converts)
    if (!erased.contains(convert))
      hoist(convert,
            llvm::any_of(convert->getUses(), simt::isFactorOfMultiplyAdds) || isOfLoopsBehind(convert),
            erased);
  for (simt::ConvertOp convert : others)
    if (!erased.contains(convert))
      if (Value load = narrowLoadBehind(convert))
        hoist(convert, false, erased, load);
}

} // namespace tegula::transforms
