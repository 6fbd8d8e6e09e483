#include "convert/ChooseLayouts.h"
#include "ir/simt/Scratch.h"
#include "ir/simt/Stages.h"
#include "ir/tile/Elementwise.h"

#include "llvm/ADT/SetVector.h"

#include <cmath>
#include <set>

using namespace mlir;
using namespace tegula::tile;
using tegula::layout::Axis;
using tegula::layout::Layout;

namespace tegula::convert {

namespace {

// Registers of a thread that rows' coordinates may take more, held by a loop where its loads want them.
constexpr size_t mostHeldMore = 16;

// Bits that an asynchronous copy of a thread moves at least.
constexpr unsigned leastCopied = 32;

// The same elements in each thread, neighbours in neighbouring registers: others that share the
// class load and store runs. Renaming registers costs nothing.
Layout inOrder(const Layout &layout) {
  Layout::Bases bases = layout.allBases();
  std::sort(bases[size_t(Axis::Register)].begin(), bases[size_t(Axis::Register)].end());
  return {layout.extents(), bases};
}

} // namespace

// The tiles behind a view that has their elements at other coordinates, or what is computed of them.
static SmallVector<Value, 2> sourcesOfView(Value tile, const Classes &classes) {
  SmallVector<Value, 2> sources;
  Operation *view = tile.getDefiningOp();
  if (view && classes.kind(tile) == Kind::View)
    for (Value operand : view->getOperands())
      if (isTile(operand) && classes.kind(operand) != Kind::Cheap && !llvm::is_contained(sources, operand))
        sources.push_back(operand);
  return sources;
}

// Which ops may derive a layout now: all at first, then those that mention a class whose layout became known.
// They come in the order of the program, again and again from its beginning, as whole walks would find them,
// but each only when something about it changed.
class LayoutChoice::Derivations {
public:
  Derivations(FuncOp function, const Classes &classes) {
    function.walk([&](Operation *op) {
      auto mention = [&](Value value) {
        if (isTile(value) && classes.isData(value))
          mentions_[classes.leader(value)].push_back(unsigned(ops_.size()));
      };
      for (Value result : op->getResults())
        mention(result);
      for (Value operand : op->getOperands()) {
        SmallVector<Value> behind{operand};
        while (!behind.empty()) {
          Value each = behind.pop_back_val();
          mention(each);
          llvm::append_range(behind, sourcesOfView(each, classes));
        }
      }
      pending_.insert(unsigned(ops_.size()));
      ops_.push_back(op);
    });
  }

  // The next op in turn; nullptr when none is left, and the turn is the first op's again.
  Operation *next() {
    if (pending_.empty()) {
      turn_ = 0;
      return nullptr;
    }
    auto found = pending_.lower_bound(turn_);
    if (found == pending_.end())
      found = pending_.begin();
    unsigned index = *found;
    pending_.erase(found);
    turn_ = index + 1;
    return ops_[index];
  }

  // The op that came last may have more to say the next time.
  void revisit() { pending_.insert(turn_ - 1); }

  void changed(Value leader) {
    if (auto found = mentions_.find(leader); found != mentions_.end())
      pending_.insert(found->second.begin(), found->second.end());
  }

private:
  std::vector<Operation *> ops_;
  llvm::DenseMap<Value, SmallVector<unsigned>> mentions_;
  std::set<unsigned> pending_;
  unsigned turn_ = 0;
};

LayoutChoice::LayoutChoice(FuncOp function, const Classes &classes, analysis::AxisInfoAnalysis &axes,
                           const SimtOptions &options)
    : classes_(classes), axes_(axes), machine_(options.machine), warps_(options.warps),
      stages_(options.stages), matrices_(chooseMatrices(function, classes, axes, options)),
      locality_(Locality::defaultLimit, options.machine.costs),
      reduced_(function, classes, options.machine, options.warps) {
  for (auto &[dot, matrix] : matrices_)
    chosen_.try_emplace(classes_.leader(dot->getResult(0)), matrix.result);
  function.walk([&](DotOp dot) {
    chosen_.try_emplace(
        classes_.leader(dot.getResult()),
        layout::dotBlocked(shapeOf(dot.getType()).vec(), warps_, 4, 4, machine_.costs.fullThreads));
  });
  chooseBesideProducts(function);
  collectAnchors(function);
  function.walk([&](DotOp dot) {
    for (unsigned index : {0u, 1u})
      chooseForFactor(dot, index);
  });
  collectReductions(function);
  function.walk([&](ReduceOp reduce) {
    Value reduced = reduce.getOperands()[0];
    if (isa<scf::ForOp, scf::WhileOp>(reduce->getParentOp()) && classes_.isData(reduced) &&
        chosen_.contains(classes_.leader(reduced)))
      for (Value result : reduce.getResults())
        if (isTile(result) && classes_.isData(result))
          linesOfLoops_.insert(classes_.leader(result));
  });
  collectFreeSums(function);
  function.walk([&](Operation *op) {
    if (isa<TransOp, ReshapeOp, JoinOp, SplitOp>(op) && classes_.isData(op->getOperand(0)))
      moved_[classes_.leader(op->getOperand(0))].push_back(op);
  });
  function.walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (isTile(operand) && classes_.isData(operand) && operand.getParentRegion() != op->getParentRegion() &&
          op->getParentOfType<LoopLikeOpInterface>())
        heldByLoops_[classes_.leader(operand)].insert(operand);
  });
  const PairedTiles paired(function, classes, machine_, warps_);
  for (const PairedTiles::Group &group : paired.groups())
    choosePaired(paired, group);
  auto chooseAnchored = [&](bool lines) {
    for (Value leader : classes.leaders())
      if ((shapeOf(leader.getType()).size() == 1) == lines && anchors_.contains(leader) &&
          !chosen_.contains(leader) && !waits(leader))
        chooseByAnchors(leader);
  };
  chooseAnchored(false);
  collectCarriedSums(function);
  chooseAnchored(true);
  largestFirst_ = classes.leaders();
  llvm::stable_sort(largestFirst_, [](Value a, Value b) {
    return cast<RankedTensorType>(a.getType()).getNumElements() >
           cast<RankedTensorType>(b.getType()).getNumElements();
  });
  // What producers give and readers want, until nothing new is known; then one of those that waited.
  Derivations derivations(function, classes);
  std::array<size_t, 3> next = {}; // the leaders in front of it are chosen, one a round of chooseWaiting
  do {
    while (Operation *op = derivations.next())
      if (std::optional<Value> leader = derive(op)) {
        derivations.revisit();
        derivations.changed(*leader);
      }
  } while (chooseWaiting(derivations, next));
}

// Does the reshape only add or drop dimensions of extent 1?
static bool keepsExtents(ReshapeOp reshape) {
  auto isOne = [](int64_t extent) { return extent == 1; };
  SmallVector<int64_t> before(shapeOf(reshape.getOperand().getType())), after(shapeOf(reshape.getType()));
  llvm::erase_if(before, isOne);
  llvm::erase_if(after, isOne);
  return before == after;
}

// Sums of products may have more dimensions than the product, of extent 1, as batches of one have them that a
// loop carries: they lie as the product leaves them, under other extents.
void LayoutChoice::chooseBesideProducts(FuncOp function) {
  SmallVector<ReshapeOp> reshapes;
  function.walk([&](ReshapeOp reshape) {
    if (classes_.isData(reshape.getOperand()) && classes_.isData(reshape.getResult()) &&
        keepsExtents(reshape))
      reshapes.push_back(reshape);
  });
  auto chooseFrom = [&](Value known, Value open) {
    if (!chosen_.contains(classes_.leader(known)) || chosen_.contains(classes_.leader(open)))
      return false;
    std::optional<Layout> layout = of(known).reshaped(shapeOf(open.getType()).vec());
    return layout && chosen_.try_emplace(classes_.leader(open), std::move(layout)).second;
  };
  bool isNew = true;
  while (isNew) {
    isNew = false;
    for (ReshapeOp reshape : reshapes)
      isNew |= chooseFrom(reshape.getOperand(), reshape.getResult()) ||
               chooseFrom(reshape.getResult(), reshape.getOperand());
  }
}

// Chooses the first class that waits: those that loops keep and reduce, so that lines are loaded as they want
// them, then those with accesses, then the others; false: none does. The largest tiles of a round come first:
// a line lies as the tile wants it that it is broadcast to, also where a thread has one element of either.
bool LayoutChoice::chooseWaiting(Derivations &derivations, std::array<size_t, 3> &next) {
  auto isOfRound = [&](Value leader, unsigned round) {
    bool isAnchored = anchors_.contains(leader);
    return round == 0 ? !isAnchored && reduced_.trips(leader) > 1 : round == 2 || isAnchored;
  };
  for (unsigned round = 0; round != next.size(); ++round)
    for (size_t &i = next[round]; i != largestFirst_.size(); ++i) {
      Value leader = largestFirst_[i];
      if (chosen_.contains(leader) || !isOfRound(leader, round))
        continue;
      if (round == 0)
        reducedInTrips_.insert(leader);
      auto sum = freeSums_.find(leader);
      if (anchors_.contains(leader))
        chooseByAnchors(leader);
      else if (sum != freeSums_.end())
        chosen_.try_emplace(leader,
                            plain(sum->second.getOperands()[0].getType()).sliced(sum->second.getAxis()));
      else
        chosen_.try_emplace(leader, reduced(leader, plain(leader.getType())));
      derivations.changed(leader);
      return true;
    }
  return false;
}

void LayoutChoice::choosePaired(const PairedTiles &paired, const PairedTiles::Group &group) {
  if (llvm::any_of(group.leaders, [&](Value leader) { return chosen_.contains(leader); }))
    return;
  const Anchor *heaviest = nullptr;
  Value tile = group.leaders[0];
  for (Value leader : group.leaders)
    if (auto anchors = anchors_.find(leader); anchors != anchors_.end())
      for (const Anchor &anchor : anchors->second)
        if (!heaviest || anchor.weight > heaviest->weight) {
          heaviest = &anchor;
          tile = leader;
        }
  Layout otherwise =
      heaviest ? build(tile.getType(), heaviest->order, heaviest->width) : plain(tile.getType());
  if (std::optional<Layout> best = paired.choose(group, otherwise))
    for (Value leader : group.leaders)
      chosen_.try_emplace(leader, Layout(shapeOf(leader.getType()).vec(), best->allBases()));
}

Layout LayoutChoice::reduced(Value leader, const Layout &otherwise) const {
  return reduced_.choose(leader, otherwise, [&](Value line) { return widthOfLine(line); });
}

unsigned LayoutChoice::widthOfLine(Value line) const {
  while (classes_.kind(line) == Kind::View) {
    SmallVector<Value, 2> sources = sourcesOfView(line, classes_);
    if (sources.empty())
      return 1;
    line = sources[0];
  }
  auto anchors = classes_.isData(line) ? anchors_.find(classes_.leader(line)) : anchors_.end();
  unsigned width = 1;
  if (anchors != anchors_.end())
    for (const Anchor &anchor : anchors->second)
      width = std::max(width, anchor.width);
  return width;
}

// Does the op do nothing with the operand but multiply by it, perhaps transposed?
static bool onlyMultiplies(OpOperand &use) {
  Operation *op = use.getOwner();
  if (isa<DotOp>(op))
    return use.getOperandNumber() < 2;
  return isa<TransOp>(op) && llvm::all_of(op->getUses(), onlyMultiplies);
}

bool LayoutChoice::onlyGivesFactors(OpOperand &use, const Layout &layout) const {
  llvm::SetVector<OpOperand *> uses;
  uses.insert(&use);
  for (unsigned i = 0; i != uses.size(); ++i) {
    Operation *op = uses[i]->getOwner();
    unsigned index = uses[i]->getOperandNumber();
    if (auto dot = dyn_cast<DotOp>(op)) {
      const MatrixDot *matrix = matrixOf(dot);
      if (!matrix || index > 1 || matrix->operand(index, shapeOf(dot.getA().getType()).back()) != layout)
        return false;
    } else if (isElementwise(op) && op->getNumResults() == 1 &&
               op->getBlock() == use.getOwner()->getBlock()) {
      for (OpOperand &next : op->getUses())
        uses.insert(&next);
    } else {
      return false;
    }
  }
  return true;
}

bool LayoutChoice::hasRoomForParts(scf::ForOp loop) const {
  auto bytesOf = [](Value tile) {
    return cast<RankedTensorType>(tile.getType()).getNumElements() *
           simt::storedBits(elementType(tile.getType())) / 8;
  };
  llvm::SmallDenseSet<Value> stored;
  int64_t bytes = 0;
  for (DotOp dot : loop.getOps<DotOp>())
    for (Value factor : {dot.getA(), dot.getB()})
      if (!isa_and_nonnull<LoadOp>(factor.getDefiningOp()) && stored.insert(factor).second)
        bytes += bytesOf(factor);
  for (LoadOp load : loop.getOps<LoadOp>())
    if (isTile(load.getResult()))
      bytes += 2 * bytesOf(load.getResult()); // the fewest slots of a copy
  return bytes <= int64_t(machine_.sharedBytes / 2);
}

SmallVector<LoadOp> LayoutChoice::loadsBehind(Value tile, Operation *user, const Layout &layout) const {
  SmallVector<LoadOp> loads;
  llvm::SetVector<Value> computed;
  computed.insert(tile);
  for (unsigned i = 0; i != computed.size(); ++i) {
    Operation *op = computed[i].getDefiningOp();
    if (!op || op->getBlock() != user->getBlock())
      return {};
    if (auto load = dyn_cast<LoadOp>(op))
      loads.push_back(load);
    else if (!isElementwise(op) &&
             !(isa<TransOp>(op) && isa_and_nonnull<LoadOp>(op->getOperand(0).getDefiningOp())))
      return {};
    for (Value operand : op->getOperands())
      if (isTile(operand) && classes_.isData(operand)) {
        if (isa<LoadOp>(op))
          return {};
        computed.insert(operand);
      }
  }
  // Products that multiply by what is loaded as it is read the copy. Parts of the factor that others multiply
  // by, its rest say, lie as it does, where shared memory has no room for all of them beside copies.
  for (Value value : computed)
    for (OpOperand &use : value.getUses())
      if (Operation *each = use.getOwner();
          each != user &&
          llvm::none_of(each->getResults(), [&](Value it) { return computed.contains(it); }) &&
          !(isa_and_nonnull<LoadOp, TransOp>(value.getDefiningOp()) && onlyMultiplies(use)) &&
          (!onlyGivesFactors(use, layout) || hasRoomForParts(cast<scf::ForOp>(user->getParentOp()))))
        return {};
  return loads;
}

void LayoutChoice::chooseForFactor(DotOp dot, unsigned index) {
  const MatrixDot *matrix = matrixOf(dot);
  Value factor = dot->getOperand(index);
  auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
  if (!matrix || !loop || simt::stagesOf(loop, stages_) < 2 || !machine_.hasAsyncCopy ||
      !classes_.isData(factor) || isa_and_nonnull<LoadOp>(factor.getDefiningOp()) ||
      chosen_.contains(classes_.leader(factor)))
    return;
  const layout::MatrixShape &shape = matrix->instruction.shape;
  if (shape.warps > 1 && index != (shape.isSwapped ? 1 : 0))
    return;
  Layout layout = matrix->operand(index, shapeOf(dot.getA().getType()).back());
  if (layout.freeBits(Axis::Warp) != 0 || layout.freeBits(Axis::Lane) != 0)
    return; // threads would compute the same
  constexpr size_t mostLoads = 2;
  SmallVector<LoadOp> loads = loadsBehind(factor, dot, layout);
  if (loads.empty() || loads.size() > mostLoads)
    return;
  llvm::SetVector<Value> leaders;
  leaders.insert(classes_.leader(factor));
  for (LoadOp load : loads)
    leaders.insert(classes_.leader(load.getResult()));
  size_t accesses = 0;
  for (Value leader : leaders) {
    auto anchors = anchors_.find(leader);
    if (anchors == anchors_.end())
      continue;
    accesses += anchors->second.size();
    for (const Anchor &anchor : anchors->second) {
      // Of packed words, which several elements come from, threads had better hold all elements.
      bool isPacked =
          llvm::any_of(axes_.at(anchor.pointers).constancy, [](int64_t equal) { return equal > 1; });
      if (!anchor.isLoad || anchor.isScattered || isPacked ||
          anchor.width * bitsOf(anchor.pointers.getType()) < leastCopied)
        return;
    }
  }
  if (accesses != loads.size())
    return;
  chosen_.try_emplace(classes_.leader(factor), layout);
  for (LoadOp load : loads)
    for (Operation *user : load->getUsers())
      if (isa<TransOp>(user) && classes_.leader(user->getResult(0)) == classes_.leader(factor))
        if (std::optional<Layout> own = naturalOperand(user, layout))
          chosen_.try_emplace(classes_.leader(load.getResult()), *own);
  copiedForFactors_.insert(loads.begin(), loads.end());
}

double LayoutChoice::exchangesOfReductions(Value leader, const Layout &layout) const {
  auto along = [&](Value each) {
    auto found = reducedOnce_.find(each);
    return found == reducedOnce_.end() ? ArrayRef<unsigned>() : ArrayRef<unsigned>(found->second);
  };
  double words = exchanges(layout, along(leader));
  auto moved = moved_.find(leader);
  for (Operation *op :
       moved == moved_.end() ? ArrayRef<Operation *>() : ArrayRef<Operation *>(moved->second)) {
    Value result = op->getResult(0);
    ArrayRef<unsigned> behind =
        classes_.isData(result) ? along(classes_.leader(result)) : ArrayRef<unsigned>();
    std::optional<Layout> there = behind.empty() ? std::nullopt : naturalResult(op, layout);
    if (there)
      words += exchanges(*there, behind);
  }
  return words;
}

unsigned LayoutChoice::registersOfSums(Value leader, const Layout &layout) const {
  unsigned registers = 0;
  for (unsigned dim : reducedInLoops_.find(leader)->second)
    registers += unsigned(layout.sliced(dim).size(Axis::Register));
  return registers;
}

double LayoutChoice::exchanges(const Layout &layout, ArrayRef<unsigned> reduced) {
  double words = 0;
  for (unsigned dim : reduced) {
    uint32_t along = ((1u << layout.hullBits(dim)) - 1) << layout.shift(dim);
    auto moving = [&](Axis axis) {
      return llvm::count_if(layout.bases(axis), [&](uint32_t basis) { return (basis & along) != 0; });
    };
    auto results =
        llvm::count_if(layout.bases(Axis::Register), [&](uint32_t basis) { return (basis & ~along) != 0; });
    auto warps = moving(Axis::Warp);
    double shared = warps ? 1 + std::ldexp(1, int(warps)) : 0; // stored once, read from each of the warps
    words += std::ldexp(double(moving(Axis::Lane)) + shared, int(results));
  }
  return words;
}

bool LayoutChoice::waits(Value leader) const {
  const auto &anchors = anchors_.find(leader)->second;
  auto type = cast<RankedTensorType>(leader.getType());
  bool isOfLoop = linesOfLoops_.contains(leader);
  bool isAccessed = llvm::any_of(anchors, [](const Anchor &anchor) { return anchor.isAccess; });
  bool isLine = llvm::count_if(type.getShape(), [](int64_t extent) { return extent != 1; }) <= 1;
  return type.getNumElements() <= 32 * int64_t(warps_) || !isAccessed ||
         ((isLine || moved_.contains(leader)) && llvm::all_of(anchors, [&](const Anchor &anchor) {
            return anchor.isLoad || (isOfLoop && anchor.trips == 1);
          }));
}

bool LayoutChoice::isCheapInTrips(Value index, const Layout &layout) const {
  Value leader = classes_.leader(index);
  Operation *source = index.getDefiningOp();
  if (anchors_.contains(leader) || !source || !source->getParentOfType<LoopLikeOpInterface>())
    return false;
  unsigned more = layout.size(Axis::Register) - plain(index.getType()).size(Axis::Register);
  auto held = heldByLoops_.find(leader);
  return more * std::max<size_t>(1, held == heldByLoops_.end() ? 0 : held->second.size()) <= mostHeldMore;
}

// Are the reduction's results only part of what its loop hands to the next trip?
static bool isOnlyCarried(ReduceOp reduce) {
  return llvm::all_of(reduce->getUsers(), [](Operation *user) {
    return isElementwise(user) && llvm::all_of(user->getUsers(), [](Operation *next) {
             return next->hasTrait<OpTrait::IsTerminator>();
           });
  });
}

// In a loop it is only the last trip's that meets the other warps (deferReductions). A scan takes what other
// warps hold, and brings it to each of its own elements.
void LayoutChoice::collectReductions(FuncOp function) {
  auto collect = [&](Operation *op, unsigned dim) {
    bool isInLoop = bool(op->getParentOfType<LoopLikeOpInterface>());
    llvm::SmallSetVector<Value, 2> leaders;
    for (Value operand : op->getOperands())
      if (classes_.isData(operand))
        leaders.insert(classes_.leader(operand));
    for (Value leader : leaders)
      if (!isInLoop)
        reducedOnce_[leader].append(op->getNumOperands() * (isa<ScanOp>(op) ? 2 : 1), dim);
      else if (auto reduce = dyn_cast<ReduceOp>(op)) {
        reducedInLoops_[leader].append(op->getNumOperands(), dim);
        if (!isOnlyCarried(reduce))
          reducedForTrips_[leader].append(op->getNumOperands(), dim);
      }
  };
  function.walk([&](ReduceOp reduce) { collect(reduce, reduce.getAxis()); });
  function.walk([&](ScanOp scan) { collect(scan, scan.getAxis()); });
  function.walk([&](ScanOp scan) {
    for (Value operand : scan.getOperands())
      if (classes_.isData(operand))
        scanned_[classes_.leader(operand)].insert(unsigned(scan.getAxis()));
  });
  function.walk([&](Operation *op) {
    if (isa<ReduceOp, ScanOp, GatherOp>(op))
      for (Value operand : op->getOperands())
        if (classes_.isData(operand))
          combined_.insert(classes_.leader(operand));
  });
}

void LayoutChoice::collectCarriedSums(FuncOp function) {
  function.walk([&](ReduceOp reduce) {
    Value reduced = reduce.getOperands()[0];
    if (!isa<scf::ForOp, scf::WhileOp>(reduce->getParentOp()) || !classes_.isData(reduced) ||
        !chosen_.contains(classes_.leader(reduced)))
      return;
    Layout line = of(reduced).sliced(reduce.getAxis());
    for (Value result : reduce.getResults())
      if (isTile(result) && classes_.isData(result) &&
          line.size(Axis::Register) <= plain(result.getType()).size(Axis::Register))
        linesOfLoops_.insert(classes_.leader(result));
  });
}

void LayoutChoice::collectFreeSums(FuncOp function) {
  llvm::DenseSet<Value> others; // leaders that something else is a member of
  function.walk([&](Operation *op) {
    auto reduce = dyn_cast<ReduceOp>(op);
    bool isFree = reduce && llvm::none_of(reduce.getOperands(),
                                          [&](Value operand) { return classes_.isData(operand); });
    auto note = [&](Value value) {
      if (isTile(value) && classes_.isData(value) && isFree)
        freeSums_.try_emplace(classes_.leader(value), reduce);
      else if (isTile(value) && classes_.isData(value))
        others.insert(classes_.leader(value));
    };
    llvm::for_each(op->getResults(), note);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), note);
  });
  for (Value leader : others)
    freeSums_.erase(leader);
}

std::optional<Layout> LayoutChoice::behindSum(ReduceOp reduce, const Layout &result) const {
  Type tile = reduce.getOperands()[0].getType();
  Layout layout = result.unsliced(unsigned(reduce.getAxis()), shapeOf(tile)[reduce.getAxis()]);
  constexpr unsigned most = 2; // times the elements of a thread's share
  return layout.size(Axis::Register) <= most * plain(tile).size(Axis::Register) ? std::optional(layout)
                                                                                : std::nullopt;
}

Layout LayoutChoice::operandOf(ReduceOp reduce) const {
  Value operand = reduce.getOperands()[0], result = reduce.getResults()[0];
  if (classes_.isData(operand))
    return of(operand);
  if (isTile(result) && freeSums_.contains(classes_.leader(result)))
    if (std::optional<Layout> layout = behindSum(reduce, of(result)))
      return *layout;
  return plain(operand.getType());
}

Layout LayoutChoice::build(Type tile, ArrayRef<unsigned> order, unsigned width, WarpsAlong warps) const {
  auto type = cast<RankedTensorType>(tile);
  int64_t perThread = std::max<int64_t>(1, type.getNumElements() / (32 * warps_));
  int64_t vector = 1;
  while (2 * vector <= std::min<int64_t>(width, perThread))
    vector *= 2;
  std::span<const unsigned> dims(order.data(), order.size());
  double full = machine_.costs.fullThreads;
  // Warps side by side along the slow dimensions: a reduction along the fast one then stays in a warp.
  return type.getRank() == 1 || warps == WarpsAlong::Fast
             ? layout::coalesced(type.getShape().vec(), dims, unsigned(vector), warps_, full)
             : layout::reduction(type.getShape().vec(), order[0], dims, unsigned(vector), warps_, full);
}

Layout LayoutChoice::plain(Type tile) const {
  SmallVector<unsigned> order;
  for (unsigned d = shapeOf(tile).size(); d-- != 0;)
    order.push_back(d);
  return build(tile, order, machine_.accessBits / bitsOf(tile));
}

std::optional<Value> LayoutChoice::derive(Operation *op) {
  auto open = [&](Value value) {
    return isTile(value) && classes_.isData(value) && !chosen_.contains(classes_.leader(value));
  };
  auto known = [&](Value value) {
    return isTile(value) && classes_.isData(value) && chosen_.contains(classes_.leader(value));
  };
  if (op->getNumResults() && op->getNumOperands() && open(op->getResult(0)) && known(op->getOperand(0)))
    if (std::optional<Layout> natural = naturalResult(op, of(op->getOperand(0)))) {
      chosen_.try_emplace(classes_.leader(op->getResult(0)), inOrder(*natural));
      return classes_.leader(op->getResult(0));
    }
  // Elements that are only gathered are so in any layout: they lie as a tile does that they are combined
  // with, or are reshaped to.
  if (isElementwise(op) && op->getNumResults() && open(op->getResult(0)) &&
      isOnlyGathered(classes_.leader(op->getResult(0))))
    for (Value operand : op->getOperands())
      if (std::optional<Layout> layout = layoutOfExpanded(operand);
          layout && suits(classes_.leader(op->getResult(0)), *layout)) {
        chosen_.try_emplace(classes_.leader(op->getResult(0)), inOrder(*layout));
        return classes_.leader(op->getResult(0));
      }
  // An op that only gives elements other coordinates, with a known result, wants its operand where none
  // moves.
  if (op->getNumResults() && op->getNumOperands() && known(op->getResult(0)) && open(op->getOperand(0)))
    if (std::optional<Layout> wanted = naturalOperand(op, of(op->getResult(0))))
      if (Layout layout = inOrder(*wanted); suits(classes_.leader(op->getOperand(0)), layout)) {
        chosen_.try_emplace(classes_.leader(op->getOperand(0)), layout);
        return classes_.leader(op->getOperand(0));
      }
  // A view that is read in a known layout wants its sources in the matching ones.
  if (!(isElementwise(op) || isa<LoadOp>(op)) || !op->getNumResults() || !known(op->getResult(0)))
    return std::nullopt;
  bool isKept = reducedInTrips_.contains(classes_.leader(op->getResult(0)));
  auto isGoodForSum = [&](Value source, const Layout &wanted) {
    auto sum = freeSums_.find(classes_.leader(source));
    return sum != freeSums_.end() && behindSum(sum->second, wanted);
  };
  for (bool several : {isKept, true})
    for (Value operand : op->getOperands())
      for (auto [source, wanted] : wantedBehind(operand, of(op->getResult(0)), several))
        if (open(source) && (several == isKept || isGoodForSum(source, wanted)) &&
            suits(classes_.leader(source), wanted) && (!isa<LoadOp>(op) || isCheapInTrips(source, wanted))) {
          chosen_.try_emplace(classes_.leader(source), wanted);
          return classes_.leader(source);
        }
  return std::nullopt;
}

bool LayoutChoice::isOnlyGathered(Value leader) const {
  auto anchors = anchors_.find(leader);
  return anchors != anchors_.end() && llvm::all_of(anchors->second, [](const Anchor &anchor) {
           return anchor.isLoad && anchor.isScattered && anchor.width == 1;
         });
}

std::optional<Layout> LayoutChoice::layoutOfExpanded(Value view) const {
  SmallVector<unsigned> axes;
  for (; classes_.kind(view) == Kind::View; view = view.getDefiningOp()->getOperand(0)) {
    auto expand = view.getDefiningOp<ExpandDimsOp>();
    if (!expand)
      return std::nullopt;
    axes.push_back(unsigned(expand.getAxis()));
  }
  if (axes.empty() || !isTile(view) || !classes_.isData(view) || !chosen_.contains(classes_.leader(view)))
    return std::nullopt;
  Layout layout = of(view);
  for (unsigned axis : llvm::reverse(axes))
    layout = layout.expanded(axis);
  bool isShared = layout.freeBits(Axis::Lane) != 0 || layout.freeBits(Axis::Warp) != 0;
  return isShared ? std::nullopt : std::optional(layout);
}

SmallVector<std::pair<Value, Layout>, 2> LayoutChoice::wantedBehind(Value tile, const Layout &layout,
                                                                    bool several) const {
  SmallVector<std::pair<Value, Layout>, 2> work{{tile, layout}}, found;
  while (!work.empty()) {
    auto [value, wanted] = work.pop_back_val();
    SmallVector<Value, 2> sources = sourcesOfView(value, classes_);
    if (sources.empty())
      found.push_back({value, wanted});
    if (sources.empty() || (sources.size() > 1 && !several))
      continue;
    Operation *view = value.getDefiningOp();
    std::optional<Layout> behind =
        isElementwise(view) ? std::optional(wanted) : simt::operandLayout(view, wanted);
    if (behind)
      for (Value source : sources)
        work.push_back({source, *behind});
  }
  return found;
}

std::optional<Layout> naturalResult(Operation *op, const Layout &operand) {
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return isTile(op->getResult(0)) ? std::optional(operand.sliced(reduce.getAxis())) : std::nullopt;
  if (auto trans = dyn_cast<TransOp>(op))
    return operand.transposed(std::span<const int32_t>(trans.getOrder().data(), trans.getOrder().size()));
  if (isa<ReshapeOp>(op))
    return operand.reshaped(shapeOf(op->getResult(0).getType()).vec());
  if (isa<JoinOp>(op))
    return operand.joined();
  if (auto cat = dyn_cast<CatOp>(op))
    return simt::concatenated(operand, cat);
  if (isa<SplitOp>(op)) {
    auto halves = operand.split();
    return halves ? std::optional(halves->first) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<Layout> naturalOperand(Operation *op, const Layout &result) {
  if (isa<TransOp, ReshapeOp>(op))
    return simt::operandLayout(op, result);
  if (isa<SplitOp>(op))
    return result.joined();
  if (isa<JoinOp>(op)) {
    auto halves = result.split();
    return halves ? std::optional(halves->first) : std::nullopt;
  }
  return std::nullopt;
}

} // namespace tegula::convert
