#include "transforms/TransposeProducts.h"

#include "ir/tile/Elementwise.h"
#include "ir/tile/Tile.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {

namespace {

constexpr unsigned mostOps = 1000; // of a group; beyond, the product stays
constexpr int64_t rowsOfWarp = 16; // of an instruction's product

bool isMatrix(Value value) { return isTile(value) && shapeOf(value.getType()).size() == 2; }

bool isTransposition(Operation *op) {
  auto transpose = dyn_cast_or_null<TransOp>(op);
  return transpose && transpose.getOrder() == ArrayRef<int32_t>{1, 0};
}

Type transposed(Type type) {
  auto tile = cast<RankedTensorType>(type);
  return tile.clone(ArrayRef<int64_t>{tile.getDimSize(1), tile.getDimSize(0)});
}

// Elements of one coordinate at most, or made of such: another copy costs next to nothing.
bool isCheap(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  auto shape = shapeOf(value.getType());
  return llvm::is_contained(shape, 1) || isa<SplatOp, ExpandDimsOp, BroadcastOp>(op) ||
         matchPattern(op, m_Constant());
}

bool isOfCheap(Operation *op) {
  return llvm::all_of(op->getOperands(),
                      [](Value operand) { return !isMatrix(operand) || isCheap(operand); });
}

// Does the tile come from memory, or from ahead of the op's loop?
bool isFetched(Value value, Operation *user) {
  Operation *op = value.getDefiningOp();
  while (isa_and_nonnull<TransOp, arith::ExtFOp, arith::TruncFOp, FpToFpOp>(op))
    op = op->getOperand(0).getDefiningOp();
  return isa_and_nonnull<LoadOp>(op) || !op || op->getBlock() != user->getBlock();
}

// With fewer rows than the warps have together, some of them would share rows: measured, up to 16 % slower.
bool mayTranspose(DotOp dot, unsigned warps) {
  Type element = elementType(dot.getA().getType());
  auto shape = shapeOf(dot.getType());
  return isMatrix(dot) && (element.isF16() || element.isBF16()) &&
         element == elementType(dot.getB().getType()) && isFetched(dot.getA(), dot) &&
         (shape[1] >= shape[0] || shape[1] >= rowsOfWarp * warps);
}

// Does a product take the value for its first factor, perhaps cast?
bool isFirstFactor(Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (auto dot = dyn_cast<DotOp>(user))
      return dot.getA() == value;
    return isa<arith::TruncFOp, FpToFpOp>(user) && isFirstFactor(user->getResult(0));
  });
}

// Does something besides a product's factor read the value, or what is computed of it alone? A factor is read
// from shared memory either way around.
bool isReadInOrder(Value value) {
  return llvm::any_of(value.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    if (auto dot = dyn_cast<DotOp>(user))
      return use.getOperandNumber() == 2;
    return !isElementwise(user) || llvm::count_if(user->getOperands(), isMatrix) > 1 ||
           isReadInOrder(user->getResult(0));
  });
}

// The products and what is computed of them that change their order of dimensions together.
class Group {
public:
  explicit Group(unsigned warps) : warps_(warps) {}

  // Returns true if all of it can be computed transposed, and that spares a transposition: of a first factor,
  // or, where no other tile has to change its order of dimensions for it, of what is not only multiplied.
  bool grow(DotOp seed) {
    if (!add(seed))
      return false;
    while (!pending_.empty())
      if (!follow(pending_.pop_back_val()))
        return false;
    return sparesFactor_ || (sparesOther_ && llvm::none_of(ops_, llvm::IsaPred<LoadOp, ReduceOp>));
  }

  ArrayRef<Operation *> ops() const { return ops_.getArrayRef(); }

  void transpose() {
    SmallVector<Operation *> transpositions;
    for (Operation *op : ops_)
      if (auto reduce = dyn_cast<ReduceOp>(op))
        rewrite(reduce);
      else
        for (Value result : op->getResults())
          for (Operation *user : result.getUsers())
            if (isTransposition(user))
              transpositions.push_back(user);
    for (Operation *op : transpositions) {
      op->getResult(0).replaceAllUsesWith(twin(op->getOperand(0)));
      op->erase();
    }
    // Ops that nobody reads any more go; users come behind what they use in a block, but blocks in any order.
    for (bool changed = true; changed;) {
      changed = false;
      for (Operation *&op : llvm::reverse(erasable_))
        if (op && op->use_empty()) {
          op->erase();
          op = nullptr;
          changed = true;
        }
    }
  }

private:
  // Notes that the op's results are wanted transposed, and only so.
  bool add(Operation *op) {
    if (ops_.contains(op))
      return true;
    if (ops_.size() == mostOps || !isMovable(op))
      return false;
    ops_.insert(op);
    pending_.push_back(op);
    return true;
  }

  bool isMovable(Operation *op) const {
    if (auto dot = dyn_cast<DotOp>(op))
      return mayTranspose(dot, warps_);
    if (auto load = dyn_cast<LoadOp>(op))
      return !load.getIsVolatile();
    return isa<ReduceOp, BroadcastOp>(op) || (isElementwise(op) && isMemoryEffectFree(op));
  }

  bool follow(Operation *op) {
    if (auto dot = dyn_cast<DotOp>(op))
      return want(dot.getAcc()) && readersFollow(op);
    if (!llvm::all_of(op->getOperands(), [&](Value operand) { return !isTile(operand) || want(operand); }))
      return false;
    return isa<ReduceOp>(op) || readersFollow(op);
  }

  // Can the value be had transposed?
  bool want(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || !isMatrix(value))
      return false;
    DenseElementsAttr constant;
    if (isTransposition(op) || isa<SplatOp, ExpandDimsOp>(op))
      return true;
    if (matchPattern(value, m_Constant(&constant)))
      return constant.isSplat();
    if (isa<BroadcastOp>(op))
      return want(op->getOperand(0));
    if (isElementwise(op) && isMemoryEffectFree(op) && (isCheap(value) || isOfCheap(op))) // a twin beside it
      return llvm::all_of(op->getOperands(),
                          [&](Value operand) { return !isTile(operand) || want(operand); });
    return add(op);
  }

  bool readersFollow(Operation *op) {
    for (Value result : op->getResults())
      for (OpOperand &use : result.getUses()) {
        Operation *user = use.getOwner();
        if (isTransposition(user)) {
          sparesFactor_ |= isFirstFactor(user->getResult(0));
          sparesOther_ |= isReadInOrder(user->getResult(0));
          continue;
        }
        auto dot = dyn_cast<DotOp>(user);
        bool follows =
            dot ? use.getOperandNumber() == 2 : isa<ReduceOp, BroadcastOp>(user) || isElementwise(user);
        if (!follows || !add(user))
          return false;
      }
    return true;
  }

  // The value transposed; made once, next to it.
  Value twin(Value value) {
    Value &known = twins_[value];
    if (known)
      return known;
    Operation *op = value.getDefiningOp();
    if (isTransposition(op))
      return known = op->getOperand(0);
    Value made = make(op, cast<OpResult>(value));
    return twins_[value] = made; // the map may have moved
  }

  Value factor(OpBuilder &builder, Value value) {
    if (isTransposition(value.getDefiningOp()))
      return value.getDefiningOp()->getOperand(0);
    return TransOp::create(builder, value.getLoc(), transposed(value.getType()), value,
                           builder.getDenseI32ArrayAttr({1, 0}));
  }

  Value make(Operation *op, OpResult value) {
    IRMapping mapping;
    auto dot = dyn_cast<DotOp>(op);
    auto expand = dyn_cast<ExpandDimsOp>(op);
    if (dot)
      mapping.map(dot.getAcc(), twin(dot.getAcc()));
    else if (!isa<SplatOp, ExpandDimsOp>(op))
      for (Value operand : op->getOperands())
        if (isTile(operand))
          mapping.map(operand, twin(operand));
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    DenseElementsAttr constant;
    if (matchPattern(Value(value), m_Constant(&constant)))
      return arith::ConstantOp::create(builder, op->getLoc(),
                                       constant.resizeSplat(cast<ShapedType>(transposed(value.getType()))));
    if (dot) {
      Value first = factor(builder, dot.getB()), second = factor(builder, dot.getA());
      auto made = cast<DotOp>(builder.clone(*op, mapping));
      made.getAMutable().assign(first);
      made.getBMutable().assign(second);
      made->getResult(0).setType(transposed(value.getType()));
      erasable_.push_back(op);
      return made;
    }
    Operation *made = builder.clone(*op, mapping);
    for (OpResult result : made->getResults())
      result.setType(transposed(result.getType()));
    if (expand)
      cast<ExpandDimsOp>(made).setAxis(1 - expand.getAxis());
    if (ops_.contains(op))
      erasable_.push_back(op);
    for (auto [old, result] : llvm::zip_equal(op->getResults(), made->getResults()))
      twins_[old] = result;
    return made->getResult(value.getResultNumber());
  }

  void rewrite(ReduceOp reduce) {
    IRMapping mapping;
    for (Value operand : reduce.getOperands())
      mapping.map(operand, twin(operand));
    OpBuilder builder(reduce);
    auto made = cast<ReduceOp>(builder.clone(*reduce, mapping));
    made.setAxis(1 - reduce.getAxis());
    reduce->replaceAllUsesWith(made);
    erasable_.push_back(reduce);
  }

  unsigned warps_;
  llvm::SetVector<Operation *> ops_;
  SmallVector<Operation *> pending_, erasable_;
  llvm::DenseMap<Value, Value> twins_;
  bool sparesFactor_ = false, sparesOther_ = false;
};

} // namespace

void transposeProducts(Operation *function, unsigned warps, std::vector<diag::Remark> &remarks) {
  SmallVector<DotOp> dots;
  function->walk([&](DotOp dot) { dots.push_back(dot); });
  llvm::DenseSet<Operation *> done;
  for (DotOp dot : dots) {
    Group group(warps);
    if (done.contains(dot) || !group.grow(dot))
      continue;
    for (Operation *op : group.ops())
      done.insert(op);
    remarks.push_back(
        {locationText(dot.getLoc()), "pipeline",
         "the product is only read transposed, so it is computed transposed, its factors exchanged"});
    group.transpose();
  }
}

} // namespace tegula::transforms
