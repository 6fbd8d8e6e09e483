#include "transforms/ChunkLargeTiles.h"
#include "analysis/AxisInfo.h"
#include "analysis/PointerOrigins.h"
#include "ir/simt/Chunks.h"
#include "ir/tile/Elementwise.h"
#include "transforms/ThreadCosts.h"
#include "transforms/TilePressure.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {

namespace {

bool touchesTiles(Operation &op) { return hasTile(op.getOperands()) || hasTile(op.getResults()); }

RankedTensorType tileType(Value value) { return dyn_cast<RankedTensorType>(value.getType()); }

bool streams(Operation &op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue());
  if (auto load = dyn_cast<LoadOp>(op))
    return !load.getIsVolatile();
  return isa<MakeRangeOp, SplatOp, StoreOp, ExpandDimsOp, BroadcastOp, TransOp, ReshapeOp, JoinOp, SplitOp,
             ReduceOp, ScanOp, GatherOp>(op) ||
         (op.getNumRegions() == 0 && isMemoryEffectFree(&op) && isElementwise(&op));
}

// The kernel of which chunks are made: its stores, each cut along one axis, and what they ask of the ops
// before them.
class Chunks {
public:
  Chunks(FuncOp function, int64_t threads, const simt::Machine &machine)
      : block_(function.getBody().front()), axes_(function, analysis::Trust::Indices), threads_(threads),
        machine_(machine), costs_(machine.costs) {}

  std::optional<int64_t> run() {
    if (!isStream() || !findLargest() || !isTooLarge())
      return std::nullopt;
    // Along the least contiguous axis first: an access then keeps its neighbours.
    SmallVector<unsigned> order = axes_.order(lead_.getPtr());
    for (unsigned axis : llvm::reverse(order))
      if (cutsAlong(axis)) {
        rewrite();
        return elements_;
      }
    return std::nullopt;
  }

private:
  bool isStream() {
    for (Operation &op : block_) {
      if (touchesTiles(op) ? !streams(op)
                           : op.getNumRegions() != 0 || !(isMemoryEffectFree(&op) || isa<ReturnOp>(op)))
        return false;
      if (auto store = dyn_cast<StoreOp>(op))
        stores_.push_back(store);
    }
    return true;
  }

  // The store of the most elements leads; the largest tile says how long a chunk may be.
  bool findLargest() {
    int64_t stored = 0;
    for (StoreOp store : stores_)
      if (int64_t elements = tileType(store.getPtr()).getNumElements(); elements > stored) {
        stored = elements;
        lead_ = store;
      }
    for (Operation &op : block_)
      for (Value result : op.getResults())
        if (RankedTensorType type = tileType(result))
          largest_ = std::max(largest_, type.getNumElements());
    return lead_ != nullptr;
  }

  // Sets how many elements may stay whole, and how many a chunk has.
  bool isTooLarge() {
    int64_t work = 0, loaded = 0;
    for (Operation &op : block_)
      for (Value result : op.getResults())
        if (RankedTensorType type = tileType(result)) {
          work += type.getNumElements() * costOf(&op, threadCosts);
          if (isa<LoadOp>(op))
            loaded += (type.getNumElements() * bitsOf(type) + 31) / 32;
        }
    bool isBusy = work > costs_.busyWork * largest_;
    elements_ = threads_ * (isBusy ? costs_.busyChunk : costs_.chunk);
    bool isCrowded = isBusy || loaded > costs_.loadedRegisters * threads_;
    most_ = isCrowded ? threads_ * int64_t(costs_.chunk) : threads_ * int64_t(costs_.largestTile);
    boundByPressure();
    return largest_ > most_;
  }

  // Elements at scattered addresses are loaded one by one, each with an address and whatever else was
  // computed for it. A thread that cannot hold all of that at once has chunks whose values leave half of its
  // registers.
  void boundByPressure() {
    bool scatters = llvm::any_of(block_, [&](Operation &op) {
      auto load = dyn_cast<LoadOp>(op);
      return load && isScattered(load.getPtr(), axes_);
    });
    if (!scatters)
      return;
    int64_t held = mostHeld(block_, axes_);
    double room = machine_.registersOfThread(unsigned(threads_ / 32)) * costs_.heldScattered;
    if (double(held) <= room * double(threads_))
      return;
    int64_t fitting = largest_;
    while (fitting > threads_ && held * fitting > largest_ * costs_.loadedRegisters * threads_)
      fitting /= 2;
    elements_ = std::min(elements_, fitting);
    most_ = std::min(most_, largest_ / 2);
  }

  static int64_t bitsOf(RankedTensorType type) {
    Type element = type.getElementType();
    return isa<PointerType>(element) ? 64 : element.getIntOrFloatBitWidth();
  }

  // Can all stores be cut so that they have one extent, with the lead along `axis`?
  bool cutsAlong(unsigned axis) {
    cuts_.clear();
    whole_.clear();
    RankedTensorType type = tileType(lead_.getPtr());
    extent_ = type.getDimSize(axis);
    int64_t others = largest_ / std::max<int64_t>(extent_, 1);
    chunk_ = extent_;
    while (chunk_ > 1 && chunk_ * others > elements_ && chunk_ % 2 == 0)
      chunk_ /= 2;
    if (chunk_ == extent_ || chunk_ * others > most_)
      return false;
    for (StoreOp store : stores_) {
      RankedTensorType shape = tileType(store.getPtr());
      unsigned own = shape == type ? axis : 0;
      if (shape.getDimSize(own) != extent_ || !cut(store, own))
        return false;
    }
    return chunksAreIndependent() && staysSmall();
  }

  // Asks for a chunk of each result of `op` along `axis`, and for what that needs.
  bool cut(Operation *op, unsigned axis) {
    SmallVector<std::pair<Operation *, unsigned>> work{{op, axis}};
    while (!work.empty()) {
      auto [next, along] = work.pop_back_val();
      SmallVector<unsigned> &known = cuts_[next];
      if (llvm::is_contained(known, along))
        continue;
      known.push_back(along);
      // Loads and reductions happen once.
      if ((known.size() > 1 && happensOnce(next)) || isOneAlong(next, along))
        return false;
      if (isa<LoadOp, StoreOp>(next) && tearsRuns(next->getOperand(0), along))
        return false;
      for (Value operand : next->getOperands()) {
        if (!tileType(operand))
          continue;
        if (isa<BlockArgument>(operand) || !operand.getDefiningOp())
          return false;
        if (std::optional<unsigned> of = operandAxis(next, operand, along))
          work.push_back({operand.getDefiningOp(), *of});
        else
          whole_.insert(operand);
      }
    }
    return true;
  }

  static bool happensOnce(Operation *op) { return isa<LoadOp, ReduceOp, ScanOp, GatherOp>(op); }

  // Does an op that gives a tile, whatever its operands are, need all of it along the axis?
  static bool isOneAlong(Operation *op, unsigned axis) {
    if (auto scan = dyn_cast<ScanOp>(op))
      return axis == uint32_t(scan.getAxis());
    if (auto gather = dyn_cast<GatherOp>(op))
      return axis == uint32_t(gather.getAxis()) ||
             gather.getSource().getType().getShape()[axis] != gather.getType().getShape()[axis];
    if (auto join = dyn_cast<JoinOp>(op))
      return axis + 1 == unsigned(join.getType().getRank());
    auto reshape = dyn_cast<ReshapeOp>(op);
    return reshape && (reshape.getAllowReorder() || !axisAhead(reshape, axis));
  }

  // The axis of a reshaped tile that is an axis of the result, with as many elements ahead of it.
  static std::optional<unsigned> axisAhead(ReshapeOp reshape, unsigned axis) {
    ArrayRef<int64_t> from = reshape.getValue().getType().getShape(), to = reshape.getType().getShape();
    int64_t ahead = 1, before = 1;
    for (unsigned d = 0; d != axis; ++d)
      ahead *= to[d];
    for (unsigned d = 0; d != from.size() && before <= ahead; before *= from[d++])
      if (before == ahead && from[d] == to[axis])
        return d;
    return std::nullopt;
  }

  // Would a chunk hold shorter runs of neighbours in memory than the tile, and less than a warp should move
  // at once? Tiles that no thread could hold are cut all the same.
  bool tearsRuns(Value pointers, unsigned axis) {
    RankedTensorType type = tileType(pointers);
    if (type.getNumElements() < largest_ || largest_ > threads_ * int64_t(costs_.largestTile) ||
        axes_.order(pointers)[0] != axis)
      return false;
    int64_t bytes = cast<PointerType>(type.getElementType()).getPointee().getIntOrFloatBitWidth() / 8;
    int64_t run = std::min(axes_.at(pointers).contiguity[axis], type.getDimSize(axis));
    return chunk_ < run && chunk_ * bytes < int64_t(costs_.coalescedBytes);
  }

  // The axis of an operand along which a chunk of the result (of a store: of the tile) is cut; none: all of
  // the operand is in each chunk.
  static std::optional<unsigned> operandAxis(Operation *op, Value operand, unsigned axis) {
    if (auto expand = dyn_cast<ExpandDimsOp>(op))
      return axis < uint32_t(expand.getAxis()) ? axis : axis - 1;
    if (isa<BroadcastOp>(op) && tileType(operand).getDimSize(axis) == 1)
      return std::nullopt;
    if (auto trans = dyn_cast<TransOp>(op))
      return unsigned(trans.getOrder()[axis]);
    if (auto reshape = dyn_cast<ReshapeOp>(op))
      return axisAhead(reshape, axis);
    if (auto reduce = dyn_cast<ReduceOp>(op))
      return axis < uint32_t(reduce.getAxis()) ? axis : axis + 1;
    return axis;
  }

  // Chunks one after another read and write what whole tiles would.
  bool chunksAreIndependent() {
    analysis::PointerOrigins origins;
    for (StoreOp store : stores_) {
      const analysis::OriginSet stored = origins.of(store.getPtr());
      if (stored.isUnknown)
        return false;
      for (Operation &op : block_) {
        Value other = isa<LoadOp, StoreOp>(op) && &op != store.getOperation() ? op.getOperand(0) : Value();
        if (other && stored.mayShare(origins.of(other)) && !(other == store.getPtr() && isOneToOne(other)))
          return false;
      }
    }
    return true;
  }

  // No two elements have one address.
  bool isOneToOne(Value pointers) {
    RankedTensorType type = tileType(pointers);
    return type.getRank() == 1 && axes_.at(pointers).contiguity[0] >= type.getDimSize(0);
  }

  // Tiles that each chunk needs whole must not be too large in their turn, and a load must not be both.
  bool staysSmall() {
    SmallVector<Value> work(whole_.begin(), whole_.end());
    for (Operation &op : block_) // scalars are made of whole tiles, ahead of the loop
      if (hasTile(op.getOperands()) && !hasTile(op.getResults()) && !isa<StoreOp>(op))
        llvm::append_range(work, op.getOperands());
    llvm::DenseSet<Value> seen;
    while (!work.empty()) {
      Value value = work.pop_back_val();
      RankedTensorType type = tileType(value);
      if (!type || !seen.insert(value).second)
        continue;
      Operation *op = value.getDefiningOp();
      if (type.getNumElements() > most_ || (happensOnce(op) && cuts_.contains(op)))
        return false;
      llvm::append_range(work, op->getOperands());
    }
    return true;
  }

  RankedTensorType narrow(RankedTensorType type, unsigned axis) const {
    SmallVector<int64_t> shape(type.getShape());
    shape[axis] = chunk_;
    return RankedTensorType::get(shape, type.getElementType());
  }

  // Clones each op once a cut, in order, into a loop behind all of them.
  void rewrite() {
    SmallVector<Operation *> tileOps;
    for (Operation &op : block_)
      if (touchesTiles(op))
        tileOps.push_back(&op);
    OpBuilder builder(block_.getTerminator());
    Location where = tileOps.front()->getLoc();
    auto number = [&](int64_t value) -> Value {
      return arith::ConstantOp::create(builder, where, builder.getI32IntegerAttr(int32_t(value)));
    };
    Value zero = number(0), end = number(extent_), step = number(chunk_);
    auto loop = scf::ForOp::create(builder, where, zero, end, step);
    loop->setAttr(simt::chunksName, builder.getUnitAttr());
    builder.setInsertionPoint(loop.getBody()->getTerminator());
    for (Operation *op : tileOps)
      if (auto found = cuts_.find(op); found != cuts_.end())
        for (unsigned axis : found->second)
          emit(builder, op, axis, loop.getInductionVar());
    for (Operation *op : llvm::reverse(tileOps))
      if (isa<StoreOp>(op) || op->use_empty())
        op->erase();
  }

  void emit(OpBuilder &builder, Operation *op, unsigned axis, Value from) {
    if (auto range = dyn_cast<MakeRangeOp>(op)) {
      RankedTensorType type = narrow(tileType(range), axis);
      uint32_t start = uint32_t(range.getStart());
      Value local = MakeRangeOp::create(builder, op->getLoc(), type, start, start + uint32_t(chunk_));
      Value base = SplatOp::create(builder, op->getLoc(), type, from);
      made_[{range, axis}] = arith::AddIOp::create(builder, op->getLoc(), base, local);
      return;
    }
    IRMapping map;
    for (Value operand : op->getOperands())
      if (tileType(operand))
        if (std::optional<unsigned> of = operandAxis(op, operand, axis))
          map.map(operand, made_.at({operand, *of}));
    Operation *copy = builder.clone(*op, map);
    for (auto [before, after] : llvm::zip(op->getResults(), copy->getResults())) {
      after.setType(narrow(tileType(before), axis));
      made_[{before, axis}] = after;
    }
    if (auto constant = dyn_cast<arith::ConstantOp>(copy))
      constant.setValueAttr(
          cast<SplatElementsAttr>(constant.getValue()).resizeSplat(cast<ShapedType>(constant.getType())));
  }

  Block &block_;
  analysis::AxisInfoAnalysis axes_;
  int64_t threads_;
  const simt::Machine &machine_;
  const simt::Costs &costs_;
  int64_t most_ = 0, elements_ = 0; // that stay whole; of a chunk
  SmallVector<StoreOp> stores_;
  StoreOp lead_;
  int64_t largest_ = 0;                                      // elements of a tile
  int64_t extent_ = 0, chunk_ = 0;                           // along the cut, of the whole and of a chunk
  llvm::MapVector<Operation *, SmallVector<unsigned>> cuts_; // the axes along which an op is wanted
  llvm::SetVector<Value> whole_;                             // wanted as they are
  llvm::DenseMap<std::pair<Value, unsigned>, Value> made_;   // of a value and an axis: its chunk
};

} // namespace

std::optional<int64_t> chunkLargeTiles(Operation *function, int64_t threads, const simt::Machine &machine) {
  return Chunks(cast<FuncOp>(function), threads, machine).run();
}

} // namespace tegula::transforms
