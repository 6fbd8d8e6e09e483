// The planner. One sweep forwards groups roots into nests (Schedule), one backwards decides
// what is buffered and where (Place).
#include "analysis/Nests.h"
#include "analysis/OpCost.h"

#include "ir/tile/Branches.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

#include <functional>
#include <map>
#include <set>

using namespace mlir;
using namespace tegula::tile;

namespace tegula::analysis {

int64_t Buffer::elements() const {
  int64_t n = 1;
  for (int64_t extent : shape)
    n *= extent;
  return n;
}

int64_t Buffer::elementBytes() const {
  return isa<PointerType>(element) ? 8 : (element.getIntOrFloatBitWidth() + 7) / 8;
}

llvm::ArrayRef<NestStep> NestPlan::steps(Block *block) const {
  auto it = steps_.find(block);
  return it == steps_.end() ? llvm::ArrayRef<NestStep>() : llvm::ArrayRef<NestStep>(it->second);
}

const Buffer *NestPlan::buffer(Value value) const {
  auto it = bufferOf_.find(value);
  return it == bufferOf_.end() ? nullptr : &buffers_[it->second];
}

int64_t NestPlan::reserve(int64_t bytes) {
  int64_t offset = scratchBytes_;
  scratchBytes_ += (bytes + 63) / 64 * 64;
  return offset;
}

unsigned NestPlan::addBuffer(Type tile) {
  Buffer buffer{elementType(tile), SmallVector<int64_t, 3>(shapeOf(tile)), 0};
  // A vector read may touch lanes behind the last element, 16 of them at most, or 31 where it reads every
  // second element: keep them inside the scratch.
  buffer.offset = reserve((buffer.elements() + 32) * buffer.elementBytes() + 64);
  buffers_.push_back(buffer);
  return buffers_.size() - 1;
}

const Buffer &NestPlan::saveArea(Value load) {
  auto [it, isNew] = saveAreaOf_.try_emplace(load, 0);
  if (isNew)
    it->second = addBuffer(load.getType());
  return buffers_[it->second];
}

namespace {

bool writesMemory(Operation *op) {
  bool writes = false;
  op->walk([&](Operation *inner) { writes |= isa<StoreOp, BarrierOp, AtomicRMWOp, AtomicCASOp>(inner); });
  return writes;
}

// In native vector instructions of a core. Division of integers has none: it goes through f64, of 64 bits
// lane by lane.
constexpr OpCosts coreCosts{.position = 0,
                            .simple = 1,
                            .floatDivision = 6,
                            .floatRemainder = 20,
                            .division = 20,
                            .constantDivision = 20,
                            .powerOfTwoDivision = 20,
                            .wideProduct = 4,
                            .simpleMath = 1,
                            .math = 15,
                            .longMath = 15};

} // namespace

bool isInline(Operation *op) {
  if (op->getNumRegions() != 0 || op->getNumResults() == 0 || isa<DotOp>(op) || isWhole(op))
    return false;
  return isTile(op->getResult(0).getType());
}

bool readsBuffers(Operation *op) {
  return isa<GatherOp>(op) || (isa<ReshapeOp>(op) && !coordinateMap(op) && !isFlattenedReduction(op));
}

bool readsBuffer(Operation *op, Value operand) {
  if (auto gather = dyn_cast<GatherOp>(op))
    return operand == gather.getSource();
  return readsBuffers(op);
}

bool isWhole(Operation *op) {
  return isa<SplitOp, CatOp, ScanOp, HistogramOp, AtomicRMWOp, AtomicCASOp, PrintOp, AssertOp>(op) ||
         (isa<ReduceOp>(op) && runsOneByOne(op->getRegion(0)));
}

// Does this step read each element of its operands once?
static bool readsOnce(Operation *op) { return isa<SplitOp, CatOp>(op); }

bool isFlattenedReduction(Operation *op) {
  auto reshape = dyn_cast<ReshapeOp>(op);
  return reshape && reshape.getAllowReorder() && shapeOf(reshape.getType()).size() == 1 &&
         llvm::all_of(reshape->getUsers(), [](Operation *user) {
           return isa<ReduceOp>(user) && !isWhole(user) && user->getNumOperands() == 1;
         });
}

namespace {

// An expression is at most so many ops deep, so that evaluating it takes a bounded stack: a block of deeper
// ones is cut into levels. What a level needs of earlier ones lies in memory, or is computed again if it is
// at most so many ops deep.
constexpr unsigned mostDepth = 512, mostDepthComputedAgain = 16;
// A nest has at most so many roots and stores: each store is tested against every access of its nest.
constexpr size_t mostRoots = 32, mostStores = 8;
// Values of an expression that choose the dimension of the lanes.
constexpr size_t mostVoters = 256;

} // namespace

class Planner {
public:
  Planner(AccessAnalysis &access, NestPlan &plan) : access_(access), plan_(plan) {}

  void planBlock(Block *block);

private:
  // Forward: roots into nests.
  void schedule(Block *block);
  void scheduleRoot(Root root);
  void flush();
  bool isTainted(Operation *op) const;
  std::optional<Nest> nestFor(const Root &root);
  unsigned pickLane(Type shape, ArrayRef<Value> operands, Operation *store, bool isBuffer = false);
  // Values under a map, each walked once: expressions are graphs, not trees.
  using Walked = std::set<std::pair<const void *, std::vector<int8_t>>>;
  void countContiguous(Value value, ArrayRef<int8_t> map, SmallVectorImpl<int> &votes, Walked &walked);
  void vote(Value pointers, ArrayRef<int8_t> map, SmallVectorImpl<int> &votes);

  // Backward: storage.
  void place(Block *block);
  void placeValue(Value value, Block *block);
  SmallVector<unsigned> readers(Value value, Block *block);
  bool isCheap(Value value);
  bool isViewOfBuffer(Value value);
  int64_t cost(Value value, int64_t enough);
  void listWrites();
  std::optional<unsigned> firstHazard(Operation *load, unsigned lastUse);
  void limitDepth(Block *block);
  void materialize(Value value, unsigned firstUse, std::optional<unsigned> hazard, StringRef why, bool alone);
  void coalesceLoop(Operation *loop);
  bool canShare(Value argument, Value yielded, unsigned writeStep, bool ownNest, Block *body);
  void setBuffer(Value value, unsigned buffer) { plan_.bufferOf_[value] = buffer; }

  void insertPendingNests();

  AccessAnalysis &access_;
  NestPlan &plan_;

  // State of the block being planned.
  std::vector<NestStep> steps_;
  std::optional<Nest> open_;
  size_t openStores_ = 0;
  bool loadsBehindNest_ = false; // they need the open nest's results, or see its stores
  llvm::DenseSet<Value> tainted_;
  std::vector<Operation *>
      behindNest_; // arithmetic on the open nest's results: other roots may still join it
  llvm::DenseMap<Operation *, unsigned> stepOf_;
  std::map<unsigned, std::vector<Nest>> before_;         // nests to insert in front of a step
  std::vector<std::pair<Operation *, unsigned>> writes_; // listWrites
  llvm::DenseMap<Value, unsigned> deep_;                 // where expressions are cut: behind which level
  // Of nests to insert in front of a step: the level of the first one, if it writes tiles that end a level.
  llvm::DenseMap<unsigned, unsigned> levelInFront_;
  // Steps that evaluate a tile inline or read its buffer, found backwards.
  llvm::DenseMap<Value, SmallVector<unsigned>> readersOf_;
  llvm::DenseMap<Value, unsigned> writtenAt_; // the step that writes a buffered value
};

// ---- forward ----------------------------------------------------------------------------

bool Planner::isTainted(Operation *op) const {
  return llvm::any_of(op->getOperands(), [&](Value operand) { return tainted_.contains(operand); });
}

void Planner::flush() {
  if (open_) {
    steps_.push_back({StepKind::Nest, nullptr, std::move(*open_)});
    open_.reset();
  }
  for (Operation *op : behindNest_)
    steps_.push_back({StepKind::Scalar, op, {}});
  behindNest_.clear();
  openStores_ = 0;
  loadsBehindNest_ = false;
  tainted_.clear();
}

void Planner::vote(Value pointers, ArrayRef<int8_t> map, SmallVectorImpl<int> &votes) {
  const Address *address = access_.address(pointers);
  if (!address)
    return;
  auto pointee = cast<PointerType>(elementType(pointers.getType())).getPointee();
  int64_t bytes = isa<PointerType>(pointee) ? 8 : (pointee.getIntOrFloatBitWidth() + 7) / 8;
  for (auto [d, stride] : llvm::enumerate(address->offset.strides))
    if (map[d] >= 0 && stride.constant() == bytes)
      ++votes[map[d]];
}

// Counts, for each dimension, the accesses behind `value` that are contiguous along it: of those nearest,
// since every root asks this of its whole expression.
void Planner::countContiguous(Value value, ArrayRef<int8_t> map, SmallVectorImpl<int> &votes,
                              Walked &walked) {
  std::deque<std::pair<Value, SmallVector<int8_t>>> next{{value, SmallVector<int8_t>(map)}};
  for (; !next.empty() && walked.size() < mostVoters; next.pop_front()) {
    auto &[tile, dims] = next.front();
    Operation *op = tile.getDefiningOp();
    if (!op || plan_.buffer(tile) ||
        !walked.emplace(tile.getAsOpaquePointer(), std::vector(dims.begin(), dims.end())).second)
      continue;
    if (auto load = dyn_cast<LoadOp>(op)) {
      vote(load.getPtr(), dims, votes);
    } else if (auto inner = coordinateMap(op)) {
      SmallVector<int8_t> composed;
      for (int8_t d : *inner)
        composed.push_back(d < 0 ? int8_t(-1) : dims[d]);
      next.emplace_back(op->getOperand(0), composed);
    } else if (isInline(op) && !readsBuffers(op)) {
      SmallVector<int8_t> same(dims);
      if (isa<JoinOp>(op))
        same.pop_back();
      for (Value operand : op->getOperands())
        if (isTile(operand.getType()))
          next.emplace_back(operand, same);
    }
  }
}

// The dimension ahead of minor ones that are short together, if it fills lanes: vectors along it can be
// interleaved and written whole.
static std::optional<unsigned> aheadOfShort(ArrayRef<int64_t> shape) {
  int64_t minor = 1;
  for (unsigned d = shape.size(); d-- > 0;) {
    if (shape[d] % 16 == 0)
      return minor > 1 ? std::optional(d) : std::nullopt;
    minor *= shape[d];
    if (minor > 8 || (minor & (minor - 1)) != 0)
      return std::nullopt;
  }
  return std::nullopt;
}

unsigned Planner::pickLane(Type tile, ArrayRef<Value> operands, Operation *store, bool isBuffer) {
  unsigned rank = shapeOf(tile).size();
  if (rank == 1)
    return 0;
  SmallVector<int> votes(rank, 0);
  SmallVector<int8_t> identity;
  for (unsigned d = 0; d < rank; ++d)
    identity.push_back(int8_t(d));
  Walked walked;
  for (Value operand : operands)
    countContiguous(operand, identity, votes, walked);
  if (auto op = dyn_cast_or_null<StoreOp>(store)) {
    if (const Address *address = access_.address(op.getPtr())) {
      auto pointee = cast<PointerType>(elementType(op.getPtr().getType())).getPointee();
      for (auto [d, stride] : llvm::enumerate(address->offset.strides))
        if (!isa<PointerType>(pointee) &&
            stride.constant() == int64_t(pointee.getIntOrFloatBitWidth() + 7) / 8)
          votes[d] += 2;
    }
  }
  auto shape = shapeOf(tile);
  // A buffer is contiguous along the minor dimension; reads across that can be transposed in blocks.
  if (isBuffer && shape[rank - 1] % 16 == 0)
    votes[rank - 1] += 2;
  // The minor dimension, unless it is too short to fill lanes and another one is not.
  unsigned best = rank - 1;
  while (best > 0 && shape[best] < 4)
    --best;
  if (shape[best] < 4)
    best = rank - 1;
  if (auto outer = isBuffer ? aheadOfShort(shape) : std::nullopt)
    return *outer;
  for (unsigned d = 0; d < rank; ++d)
    if (votes[d] > votes[best])
      best = d;
  return best;
}

std::optional<Nest> Planner::nestFor(const Root &root) {
  Nest nest;
  if (root.kind == RootKind::Store) {
    auto store = cast<StoreOp>(root.op);
    Type type = store.getPtr().getType();
    nest.shape.assign(shapeOf(type).begin(), shapeOf(type).end());
    nest.lane = pickLane(type, {store.getValue()}, store);
  } else if (root.kind == RootKind::Buffer) {
    Type type = root.value.getType();
    nest.shape.assign(shapeOf(type).begin(), shapeOf(type).end());
    nest.lane = pickLane(type, {root.value}, nullptr, true);
  } else {
    auto reduce = cast<ReduceOp>(root.op);
    SmallVector<Value> operands(reduce.getOperands());
    Type type = operands[0].getType();
    if (root.over == ReduceOver::All)
      type = operands[0].getDefiningOp()->getOperand(0).getType();
    nest.shape.assign(shapeOf(type).begin(), shapeOf(type).end());
    nest.lane = root.over == ReduceOver::All ? nest.shape.size() - 1 : pickLane(type, operands, nullptr);
    if (root.over == ReduceOver::Inner || (root.over == ReduceOver::Lane && nest.lane != reduce.getAxis()))
      nest.inner = reduce.getAxis();
    if (nest.inner == nest.lane) {
      nest.inner.reset();
    }
  }
  nest.roots.push_back(root);
  if (nest.inner)
    nest.roots[0].over = ReduceOver::Inner;
  return nest;
}

static bool isScalarArithmetic(Operation *op) {
  return isPure(op) && op->getNumRegions() == 0 && op->getNumResults() == 1 &&
         !isTile(op->getResult(0).getType()) &&
         llvm::none_of(op->getOperands(), [](Value operand) { return isTile(operand.getType()); });
}

void Planner::scheduleRoot(Root root) {
  Nest nest = *nestFor(root);
  // A load between two stores of one nest would have no place of its own.
  if (root.op && (isTainted(root.op) || (root.kind == RootKind::Store && loadsBehindNest_)))
    flush();
  bool fits = open_ && open_->shape == nest.shape && open_->lane == nest.lane && open_->inner == nest.inner &&
              open_->roots.size() < mostRoots && (root.kind != RootKind::Store || openStores_ < mostStores);
  if (open_ && !fits)
    flush();
  if (open_)
    open_->roots.push_back(nest.roots[0]);
  else
    open_ = std::move(nest);
  if (root.kind == RootKind::Store)
    ++openStores_;
  if (root.op)
    for (Value result : root.op->getResults())
      tainted_.insert(result);
}

void Planner::schedule(Block *block) {
  for (Operation &op : *block) {
    if (isInline(&op)) {
      bool readsWritten = isa<LoadOp>(op) && openStores_;
      // A later store must not come before this load, and the load not before the open nest.
      loadsBehindNest_ |= isa<LoadOp>(op) && (openStores_ || isTainted(&op));
      if (readsWritten || isTainted(&op))
        tainted_.insert(op.getResult(0));
      continue;
    }
    if (auto store = dyn_cast<StoreOp>(op); store && isTile(store.getPtr().getType())) {
      scheduleRoot({RootKind::Store, &op, {}, {}});
      continue;
    }
    if (auto reduce = dyn_cast<ReduceOp>(op); reduce && !isWhole(&op)) {
      Root root{RootKind::Reduce, &op, {}, ReduceOver::Lane};
      Operation *operand = reduce.getOperands()[0].getDefiningOp();
      if (operand && isFlattenedReduction(operand))
        root.over = ReduceOver::All;
      scheduleRoot(root);
      continue;
    }
    if (open_ && isTainted(&op) && isScalarArithmetic(&op)) {
      behindNest_.push_back(&op);
      tainted_.insert(op.getResult(0));
      continue;
    }
    bool touchesMemory = isa<LoadOp, StoreOp, BarrierOp>(op);
    bool isRegion = op.getNumRegions() != 0;
    bool needsFlush = isTainted(&op) || isRegion || isWhole(&op) || isa<DotOp, StoreOp, BarrierOp>(op) ||
                      op.hasTrait<OpTrait::IsTerminator>() || (touchesMemory && openStores_);
    if (needsFlush)
      flush();
    StepKind kind = isa<DotOp>(op)                         ? StepKind::Dot
                    : isWhole(&op)                         ? StepKind::Whole
                    : isRegion                             ? StepKind::Region
                    : op.hasTrait<OpTrait::IsTerminator>() ? StepKind::Yield
                                                           : StepKind::Scalar;
    steps_.push_back({kind, &op, {}});
  }
  flush();
}

// ---- backward ---------------------------------------------------------------------------

// Ranges, splats of scalars and simple arithmetic on them: worth recomputing anywhere.
bool Planner::isCheap(Value value) {
  std::function<int64_t(Value, unsigned)> walk = [&](Value v, unsigned depth) -> int64_t {
    if (!isTile(v.getType()))
      return 0;
    Operation *op = v.getDefiningOp();
    if (!op || depth > 16 || !isInline(op) || isa<LoadOp>(op) || readsBuffers(op) || plan_.buffer(v))
      return 1000;
    int64_t total = costOf(op, coreCosts);
    for (Value operand : op->getOperands())
      if (total <= 8) // enough to know; a value used by many chains would be walked once for each
        total += walk(operand, depth + 1);
    return total;
  };
  return walk(value, 0) <= 8;
}

// Does evaluating it read a buffer, at other coordinates? Later steps that write the buffer see the reader.
bool Planner::isViewOfBuffer(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (isa<ReshapeOp>(op) && readsBuffers(op))
      return true;
    if (!coordinateMap(op))
      return false;
    value = op->getOperand(0);
  }
  return false;
}

// Returns what computing `value` once costs, as far as `enough`: beyond it only that it costs more.
int64_t Planner::cost(Value value, int64_t enough) {
  llvm::DenseSet<Value> seen;
  SmallVector<Value> work{value};
  int64_t total = 0;
  while (!work.empty() && total <= enough) {
    Value v = work.pop_back_val();
    if (!isTile(v.getType()) || !seen.insert(v).second)
      continue;
    if (seen.size() > mostVoters)
      return enough + 1;
    Operation *op = v.getDefiningOp();
    bool isComputed = op && isInline(op) && !plan_.buffer(v);
    total += isComputed ? costOf(op, coreCosts) : 1;
    if (isComputed)
      work.append(op->operand_begin(), op->operand_end());
  }
  return total;
}

// The steps of `block` that evaluate `value`, ascending. A user that is itself inline
// stands for its own readers, unless it is buffered: then only its writer reads.
SmallVector<unsigned> Planner::readers(Value value, Block *block) {
  llvm::SetVector<unsigned> steps;
  for (Operation *user : value.getUsers()) {
    Operation *here = block->findAncestorOpInBlock(*user);
    if (!here)
      continue;
    if (here != user || !isInline(user)) {
      if (auto it = stepOf_.find(here); it != stepOf_.end())
        steps.insert(it->second);
      continue;
    }
    Value result = user->getResult(0);
    if (auto written = writtenAt_.find(result); written != writtenAt_.end())
      steps.insert(written->second);
    else if (auto it = readersOf_.find(result); it != readersOf_.end())
      steps.insert(it->second.begin(), it->second.end());
  }
  SmallVector<unsigned> sorted(steps.begin(), steps.end());
  llvm::sort(sorted);
  return sorted;
}

// Lists what may write memory in program order, each with the first step that it or a later one belongs to.
void Planner::listWrites() {
  writes_.clear();
  for (auto [index, step] : llvm::enumerate(steps_)) {
    if (step.op && step.kind != StepKind::Nest && writesMemory(step.op))
      writes_.push_back({step.op, unsigned(index)});
    for (const Root &root : step.nest.roots)
      if (root.kind == RootKind::Store)
        writes_.push_back({root.op, unsigned(index)});
  }
  llvm::sort(writes_, [](const auto &a, const auto &b) { return a.first->isBeforeInBlock(b.first); });
  for (size_t i = writes_.size(); i-- > 1;)
    writes_[i - 1].second = std::min(writes_[i - 1].second, writes_[i].second);
}

// The first step before `lastUse` that may write what `load` read, if any.
std::optional<unsigned> Planner::firstHazard(Operation *load, unsigned lastUse) {
  auto behind =
      llvm::partition_point(writes_, [&](const auto &write) { return !load->isBeforeInBlock(write.first); });
  return behind != writes_.end() && behind->second < lastUse ? std::optional(behind->second) : std::nullopt;
}

// `alone`: some user reads it at other coordinates, and so behind the nest that writes it. Tiles that end the
// same level are written by one nest, which computes once what they share.
void Planner::materialize(Value value, unsigned firstUse, std::optional<unsigned> hazard, StringRef why,
                          bool alone) {
  if (!plan_.buffer(value))
    setBuffer(value, plan_.addBuffer(value.getType()));
  plan_.decisions_.push_back({value.getDefiningOp(), "buffer", why.str()});
  auto shape = shapeOf(value.getType());
  Root root{RootKind::Buffer, nullptr, value, {}};
  unsigned at = hazard ? std::min(firstUse, *hazard) : firstUse;
  writtenAt_[value] = at;
  NestStep &step = steps_[at];
  // A nest of this shape that evaluates the tile anyway also writes it, unless a nest in front
  // of it may read it.
  bool evaluates = !alone && !deep_.contains(value) && at == firstUse && before_[at].empty() &&
                   step.kind == StepKind::Nest && llvm::ArrayRef<int64_t>(step.nest.shape) == shape &&
                   !step.nest.inner && step.nest.roots.size() < mostRoots;
  if (evaluates) {
    step.nest.roots.insert(step.nest.roots.begin(), root);
    return;
  }
  // Found backwards, so a nest for an operand goes in front of those of its users.
  auto &nests = before_[at];
  Nest nest = *nestFor(root);
  auto level = deep_.find(value);
  bool isOfLevel = level != deep_.end(), isOpen = levelInFront_.contains(at);
  bool joins = !alone && (isOfLevel ? isOpen && levelInFront_[at] == level->second : !isOpen);
  if (joins && !nests.empty() && nests.front().shape == nest.shape && nests.front().lane == nest.lane &&
      nests.front().roots.size() < mostRoots) {
    nests.front().roots.insert(nests.front().roots.begin(), root);
    return;
  }
  nests.insert(nests.begin(), std::move(nest));
  levelInFront_.erase(at);
  if (isOfLevel)
    levelInFront_[at] = level->second;
}

void Planner::placeValue(Value value, Block *block) {
  Operation *op = value.getDefiningOp();
  auto steps = readers(value, block);
  readersOf_[value] = steps;
  if (steps.empty() || !op)
    return;
  bool forced = false, alone = false, crosses = false, yielded = false;
  for (Operation *user : value.getUsers()) {
    Operation *here = block->findAncestorOpInBlock(*user);
    forced |= readsBuffer(user, value) || (here == user && isWhole(user) && !isCheap(value) &&
                                           !(readsOnce(user) && isViewOfBuffer(value)));
    alone |= here == user && readsBuffer(user, value);
    // An initial value is evaluated in front of the loop; other uses inside a region are not.
    crosses |= here && here != user;
    yielded |= here == user && isa<scf::YieldOp>(user) && isa<scf::ForOp, scf::WhileOp>(user->getParentOp());
    yielded |= here == user && isa<scf::ConditionOp>(user);
  }
  std::optional<unsigned> hazard;
  if (isa<LoadOp>(op))
    hazard = firstHazard(op, steps.back());
  if (hazard && steps.size() == 1 && *hazard >= steps[0])
    hazard.reset();
  std::string why;
  bool isDeep = deep_.contains(value);
  if (isDeep)
    why = "its expression is " + std::to_string(mostDepth) + " operations deep";
  else if (forced)
    why = "its elements are read in another order";
  else if (crosses && !isCheap(value))
    why = "it is used inside a loop or branch";
  else if (yielded)
    why = "it is carried around the loop";
  else if (hazard)
    why = "memory may be written between the load and its use";
  else if (isa<LoadOp>(op) && cast<LoadOp>(op).getIsVolatile())
    why = "the load is volatile";
  else if (steps.size() > 1 && cost(value, 6) * int64_t(steps.size() - 1) > 6)
    why = "computing it in " + std::to_string(steps.size()) + " nests costs more than memory";
  if (!why.empty())
    materialize(value, steps.front(), hazard, why, alone);
}

// Marks the tiles that end a level of expressions that are too deep: all that later levels need, so that none
// of these computes an earlier level once more.
void Planner::limitDepth(Block *block) {
  struct Depth {
    unsigned whole = 0, computed = 0; // as if nothing was cut; of what is computed for it in its level
    unsigned level() const { return whole / mostDepth; }
  };
  llvm::DenseMap<Value, Depth> depths;
  for (Operation &op : *block) {
    if (!isInline(&op))
      continue;
    Depth depth{1, 1};
    for (Value operand : op.getOperands())
      depth.whole = std::max(depth.whole, depths.lookup(operand).whole + 1);
    for (Value operand : op.getOperands()) {
      auto known = depths.find(operand);
      if (known == depths.end())
        continue;
      Depth &own = known->second;
      if (own.level() != depth.level() && own.computed > mostDepthComputedAgain &&
          !isFlattenedReduction(operand.getDefiningOp())) {
        deep_.try_emplace(operand, own.level());
        own.computed = 0;
      }
      depth.computed = std::max(depth.computed, own.computed + 1);
    }
    depths[op.getResult(0)] = depth;
  }
}

void Planner::place(Block *block) {
  listWrites();
  limitDepth(block);
  for (auto [index, step] : llvm::enumerate(steps_)) {
    if (step.op)
      stepOf_[step.op] = index;
    for (Root &root : step.nest.roots)
      if (root.op)
        stepOf_[root.op] = index;
  }
  for (Operation &op : llvm::reverse(*block)) {
    if (isInline(&op)) {
      placeValue(op.getResult(0), block);
      continue;
    }
    for (Value result : op.getResults())
      if (isTile(result.getType()))
        readersOf_[result] = readers(result, block);
  }
  for (BlockArgument argument : block->getArguments())
    if (isTile(argument.getType()))
      readersOf_[argument] = readers(argument, block);
}

// May the yielded tile be written straight into the loop's own buffer? Only when nobody
// reads the old one afterwards.
bool Planner::canShare(Value argument, Value yielded, unsigned writeStep, bool ownNest, Block *body) {
  for (unsigned reader : readersOf_[argument])
    if (reader > writeStep || (reader == writeStep && !ownNest))
      return false;
  return true;
}

namespace {

// Does `value` read `argument` only element by element, at its own coordinates, through
// inline ops? (Then computing it in place is safe.)
bool readsOnlyInPlace(Value value, Value argument, const NestPlan &plan, llvm::DenseSet<Value> &walked,
                      unsigned depth = 0) {
  if (value == argument || !walked.insert(value).second)
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || !isInline(op) || (depth > 0 && plan.buffer(value)))
    return true;
  bool moves = coordinateMap(op).has_value() || readsBuffers(op) || isa<JoinOp>(op);
  for (Value operand : op->getOperands()) {
    if (!isTile(operand.getType()))
      continue;
    if (!readsOnlyInPlace(operand, argument, plan, walked, depth + 1))
      return false;
    if (moves) {
      // Any read of the argument below a change of coordinates is not in place.
      llvm::SmallVector<Value> work{operand};
      llvm::DenseSet<Value> seen;
      while (!work.empty()) {
        Value v = work.pop_back_val();
        if (v == argument)
          return false;
        Operation *def = v.getDefiningOp();
        if (!def || !seen.insert(v).second || !isInline(def) || plan.buffer(v))
          continue;
        for (Value o : def->getOperands())
          work.push_back(o);
      }
    }
  }
  return true;
}

bool readsOnlyInPlace(Value value, Value argument, const NestPlan &plan) {
  llvm::DenseSet<Value> walked;
  return readsOnlyInPlace(value, argument, plan, walked);
}

// The arguments of a block that the expressions of some tiles read, down to tiles in memory.
class InlineReads {
public:
  void add(Value tile, const NestPlan &plan) {
    llvm::SmallVector<Value> work{tile};
    llvm::DenseSet<Value> seen;
    while (!work.empty()) {
      Value value = work.pop_back_val();
      if (!seen.insert(value).second)
        continue;
      Operation *op = value.getDefiningOp();
      if (!op)
        note(value, tile);
      else if (isInline(op) && (value == tile || !plan.buffer(value)))
        work.append(op->operand_begin(), op->operand_end());
    }
  }

  bool noneBut(Value tile, Value argument) const {
    auto found = reader_.find(argument);
    return found == reader_.end() || found->second == tile;
  }

private:
  void note(Value argument, Value tile) {
    auto [found, isFirst] = reader_.try_emplace(argument, tile);
    if (!isFirst && found->second != tile)
      found->second = nullptr;
  }

  llvm::DenseMap<Value, Value> reader_; // null: several
};

} // namespace

// Gives the loop's carried tiles their buffers; a tile that may be updated in place shares.
void Planner::coalesceLoop(Operation *terminator) {
  auto loop = dyn_cast<scf::ForOp>(terminator->getParentOp());
  if (!loop)
    return;
  Block *body = terminator->getBlock();
  llvm::DenseMap<unsigned, SmallVector<Value>> writtenIn;
  for (auto [value, step] : writtenAt_)
    writtenIn[step].push_back(value);
  llvm::DenseMap<unsigned, InlineReads> readIn; // of steps that were asked for
  llvm::SmallDenseSet<Value> yieldedValues(terminator->operand_begin(), terminator->operand_end());
  for (auto [argument, yielded] : llvm::zip(loop.getRegionIterArgs(), terminator->getOperands())) {
    if (!isTile(argument.getType()) || !yielded.hasOneUse() || yieldedValues.contains(argument))
      continue;
    Operation *op = yielded.getDefiningOp();
    if (!op || op->getBlock() != body)
      continue;
    unsigned shared = plan_.bufferOf_.lookup(argument);
    if (auto dot = dyn_cast<DotOp>(op)) {
      bool alone = readsOnlyInPlace(dot.getAcc(), argument, plan_);
      // The factors are packed after the accumulator is written: they must not read it.
      unsigned step = stepOf_[op];
      llvm::SmallVector<Value> work{dot.getA(), dot.getB()};
      llvm::DenseSet<Value> seen;
      while (!work.empty() && alone) {
        Value v = work.pop_back_val();
        alone &= v != argument;
        Operation *def = v.getDefiningOp();
        if (def && seen.insert(v).second && isInline(def) && !plan_.buffer(v))
          work.append(def->operand_begin(), def->operand_end());
      }
      if (alone && canShare(argument, yielded, step, /*ownNest=*/true, body))
        setBuffer(yielded, shared);
      continue;
    }
    auto written = writtenAt_.find(yielded);
    if (written == writtenAt_.end() || !readsOnlyInPlace(yielded, argument, plan_))
      continue;
    // Other tiles of the same step must not read the argument: they might come later.
    auto [reads, isNew] = readIn.try_emplace(written->second);
    if (isNew)
      for (Value value : writtenIn[written->second])
        reads->second.add(value, plan_);
    bool onlyReader = reads->second.noneBut(yielded, argument);
    bool inYield = steps_[written->second].kind != StepKind::Nest;
    if (onlyReader && inYield && canShare(argument, yielded, written->second, true, body))
      setBuffer(yielded, shared);
  }
}

void Planner::insertPendingNests() {
  std::vector<NestStep> all;
  for (auto [index, step] : llvm::enumerate(steps_)) {
    for (Nest &nest : before_[index])
      all.push_back({StepKind::Nest, nullptr, std::move(nest)});
    all.push_back(std::move(step));
  }
  steps_ = std::move(all);
}

void Planner::planBlock(Block *block) {
  // Results of roots and regions, and carried tiles, always have a buffer.
  auto give = [&](Value value) {
    if (isTile(value.getType()) && !plan_.buffer(value))
      setBuffer(value, plan_.addBuffer(value.getType()));
  };
  if (!isa<FuncOp>(block->getParentOp()))
    for (BlockArgument argument : block->getArguments())
      give(argument);
  for (Operation &op : *block) {
    if (isInline(&op) || isa<arith::ConstantOp>(op))
      continue;
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      // A loop's result is its carried tile after the last iteration.
      for (auto [result, argument] : llvm::zip(loop.getResults(), loop.getRegionIterArgs()))
        if (isTile(result.getType())) {
          give(argument);
          setBuffer(result, plan_.bufferOf_[argument]);
        }
      continue;
    }
    if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      // Results are what the condition hands to the body the last time.
      for (auto [result, argument] : llvm::zip(loop.getResults(), loop.getAfterArguments()))
        if (isTile(result.getType())) {
          give(argument);
          setBuffer(result, plan_.bufferOf_[argument]);
        }
      continue;
    }
    if (isWhole(&op) && op.use_empty()) // an atomic whose old values nobody reads
      continue;
    for (Value result : op.getResults())
      give(result);
  }
  schedule(block);
  place(block);
  coalesceLoop(block->getTerminator());
  insertPendingNests();
  plan_.steps_[block] = std::move(steps_);

  for (Operation &op : *block) {
    if (isa<ReduceOp, ScanOp>(op) && !runsOneByOne(op.getRegion(0)))
      continue; // evaluated op by op; one that branches has steps of its own
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        Planner(access_, plan_).planBlock(&inner);
  }
}

NestPlan planNests(Operation *function, AccessAnalysis &access) {
  NestPlan plan;
  Planner(access, plan).planBlock(&function->getRegion(0).front());
  return plan;
}

} // namespace tegula::analysis
