#include "convert/ChooseLayouts.h"
#include "ir/tile/Elementwise.h"
#include "layout/Conversion.h"
#include "layout/Queries.h"

#include "llvm/ADT/SetVector.h"

#include <cmath>

using namespace mlir;
using namespace tegula::tile;
using tegula::layout::Axis;
using tegula::layout::Layout;

namespace tegula::convert {

unsigned bitsOf(Type tile) {
  Type element = elementType(tile);
  if (auto pointer = dyn_cast<PointerType>(element))
    element = pointer.getPointee();
  return std::max(8u, element.getIntOrFloatBitWidth());
}

namespace {

// An access of memory by a tile of addresses, whatever the op.
struct AccessOperands {
  Value pointers, mask;
};
std::optional<AccessOperands> accessOf(Operation *op) {
  if (auto load = dyn_cast<LoadOp>(op))
    return AccessOperands{load.getPtr(), load.getMask()};
  if (auto store = dyn_cast<StoreOp>(op))
    return AccessOperands{store.getPtr(), store.getMask()};
  if (isa<AtomicRMWOp, AtomicCASOp>(op))
    return AccessOperands{op->getOperand(0), {}};
  return std::nullopt;
}

} // namespace

void LayoutChoice::chooseByAnchors(Value leader) {
  const auto &anchors = anchors_.find(leader)->second;
  auto heaviest = std::max_element(anchors.begin(), anchors.end(),
                                   [](const Anchor &a, const Anchor &b) { return a.weight < b.weight; });
  // Elements of several sizes: longer runs make fewer instructions of the small ones, and scatter the large.
  unsigned widest = 1, narrowest = ~0u;
  bool isScattered = false;
  for (const Anchor &anchor : anchors)
    if (anchor.order[0] == heaviest->order[0]) {
      widest = std::max(widest, anchor.width);
      narrowest = std::min(narrowest, anchor.width);
      isScattered |= anchor.isScattered;
    }
  unsigned best = widest;
  double least = std::numeric_limits<double>::infinity();
  for (unsigned run = widest; run >= narrowest && !isScattered; run /= 2) {
    double cost = 0;
    for (const Anchor &anchor : anchors)
      if (anchor.order[0] == heaviest->order[0])
        cost += anchor.trips * costOf(anchor, run);
    if (cost < least) {
      least = cost;
      best = run;
    }
  }
  if (llvm::all_of(anchors, [](const Anchor &anchor) { return anchor.isLoad; }))
    if (unsigned run = runOfParts(*heaviest, best); run > best) {
      best = run;
      sharingParts_.insert(leader);
    }
  auto type = cast<RankedTensorType>(leader.getType());
  Layout layout = build(type, heaviest->order, best);
  // A reduction along a slow dimension would have each warp read what the others hold of its columns, many
  // where columns are many: it costs less to share the few sums of rows.
  if (reducedOnce_.contains(leader)) {
    Layout across = build(type, heaviest->order, best, WarpsAlong::Fast);
    if (exchangesOfReductions(leader, across) < exchangesOfReductions(leader, layout))
      layout = across;
  }
  // In a loop each thread keeps such sums for all of its columns, to combine them behind it: too many crowd
  // it.
  if (reducedInLoops_.contains(leader) &&
      registersOfSums(leader, layout) > machine_.costs.heldSums * machine_.registersOfThread(warps_)) {
    Layout across = build(type, heaviest->order, best, WarpsAlong::Fast);
    if (registersOfSums(leader, across) < registersOfSums(leader, layout))
      layout = across;
  }
  // Rows that are fewer than the warps leave some of these along the columns: what is reduced along a row
  // meets across warps anyway, and sums of columns need not.
  if (reducedInLoops_.contains(leader) && layout.rank() > 1 && liesAcrossWarps(layout, heaviest->order)) {
    ArrayRef<unsigned> dims = reducedInLoops_.find(leader)->second;
    Layout across = build(type, heaviest->order, best, WarpsAlong::Fast);
    if (exchanges(across, dims) < exchanges(layout, dims))
      layout = across;
  }
  // Reductions that a trip needs of its own tile are combined in that trip, not once behind the loop.
  if (auto found = reducedForTrips_.find(leader); found != reducedForTrips_.end() && layout.rank() > 1) {
    Layout across = build(type, heaviest->order, best, WarpsAlong::Fast);
    if (exchanges(across, found->second) < exchanges(layout, found->second))
      layout = across;
  }
  // Nothing is combined along the rows: warps that lie along them share no elements of lines of columns,
  // which each would load; but each thread then has elements of more rows, with their addresses.
  if (type.getRank() > 1 && !combined_.contains(leader) && !moved_.contains(leader)) {
    Layout across = build(type, heaviest->order, best, WarpsAlong::Fast);
    if (costOfRowsAndColumns(leader, across) < costOfRowsAndColumns(leader, layout))
      layout = across;
  }
  if (auto sharing = withSharedAddresses(leader, *heaviest, best, layout))
    layout = *sharing;
  // A scan along a slow dimension. Along the fast one neighbours lie in lanes, for the accesses.
  if (auto found = scanned_.find(leader); found != scanned_.end())
    for (unsigned dim : found->second)
      if (dim != heaviest->order[0] && type.getShape()[dim] == layout.hull(dim))
        layout = layout::scanned(layout, dim);
  // A tile that is loaded and stored once, and reduced in each trip, lies as the reductions want it.
  bool isReducedInside =
      llvm::all_of(anchors, [&](const Anchor &anchor) { return anchor.trips < reduced_.trips(leader); });
  if (isReducedInside)
    reducedInTrips_.insert(leader);
  chosen_.try_emplace(leader, isReducedInside ? reduced(leader, layout) : layout);
}

unsigned LayoutChoice::runOfParts(const Anchor &anchor, unsigned run) const {
  const unsigned dim = anchor.order[0];
  auto type = cast<RankedTensorType>(anchor.pointers.getType());
  llvm::SetVector<Operation *> parts; // ops of whole tiles that the access's operands are computed by
  auto add = [&](Value value) {
    Operation *op = value ? value.getDefiningOp() : nullptr;
    if (op && isElementwise(op) && op->getNumResults() == 1 &&
        shapeOf(op->getResult(0).getType()) == type.getShape())
      parts.insert(op);
  };
  add(anchor.pointers);
  add(anchor.mask);
  for (unsigned i = 0; i != parts.size(); ++i)
    llvm::for_each(parts[i]->getOperands(), add);
  auto opsOf = [&](int64_t neighbours) { // for an element, with its load
    double ops = 1;
    for (Operation *op : parts)
      ops += 1.0 / std::min(neighbours, axes_.likelyAt(op->getResult(0)).constancy[dim]);
    return ops;
  };
  int64_t most =
      std::min<int64_t>({machine_.costs.longestPartsRun, axes_.likelyAt(anchor.pointers).contiguity[dim],
                         type.getNumElements() / (int64_t(warps_) << layout::laneBits)});
  unsigned longest = run;
  while (2 * longest <= most)
    longest *= 2;
  return opsOf(longest) <= machine_.costs.mostParts * opsOf(run) ? longest : run;
}

double LayoutChoice::loadedOnce(Value pointers, const Layout &layout) const {
  const analysis::AxisInfo &info = axes_.at(pointers);
  double elements = 1;
  for (uint32_t basis : layout.bases(Axis::Register)) {
    bool isShared = basis == 0;
    for (unsigned d = 0; d != info.rank() && !isShared; ++d)
      isShared = (basis & ~layout.dimMask(d)) == 0 && (basis >> layout.shift(d)) < info.constancy[d];
    elements *= isShared ? 1 : 2;
  }
  return elements;
}

std::optional<Layout> LayoutChoice::withSharedAddresses(Value leader, const Anchor &heaviest, unsigned run,
                                                        const Layout &layout) const {
  auto type = cast<RankedTensorType>(leader.getType());
  if (!heaviest.isLoad || heaviest.isScattered || type.getRank() == 1 || combined_.contains(leader))
    return std::nullopt;
  SmallVector<int64_t, 4> runs = axes_.at(heaviest.pointers).constancy;
  for (unsigned d = 0; d != runs.size(); ++d)
    if (d == heaviest.order[0] || runs[d] >= type.getShape()[d])
      runs[d] = 1; // all the same: a line
  if (llvm::all_of(runs, [](int64_t neighbours) { return neighbours == 1; }))
    return std::nullopt;
  Layout sharing =
      layout::withRuns(type.getShape().vec(), heaviest.order, run, runs, warps_, machine_.costs.fullThreads);
  double before = loadedOnce(heaviest.pointers, layout), after = loadedOnce(heaviest.pointers, sharing);
  return 2 * after <= before ? std::optional(sharing) : std::nullopt;
}

bool LayoutChoice::liesAcrossWarps(const Layout &layout, ArrayRef<unsigned> order) {
  uint32_t fast = layout.dimMask(order[0]);
  auto moves = [&](uint32_t mask) {
    return llvm::any_of(layout.bases(Axis::Warp), [&](uint32_t basis) { return (basis & mask) != 0; });
  };
  return moves(fast) && moves(~fast);
}

double LayoutChoice::costOfRowsAndColumns(Value leader, const Layout &layout) const {
  double cost = reduced_.costOfLines(leader, layout, [&](Value line) { return widthOfLine(line); });
  for (const Anchor &anchor : anchors_.find(leader)->second) {
    auto rows = llvm::count_if(layout.bases(Axis::Register), [&](uint32_t basis) {
      return (basis & ~layout.dimMask(anchor.order[0])) != 0;
    });
    cost += anchor.isAccess ? anchor.trips * std::ldexp(machine_.costs.repeatedElement, int(rows)) : 0;
  }
  return cost;
}

double LayoutChoice::costOf(const Anchor &anchor, unsigned run) const {
  double instructions = 1.0 / std::min(run, anchor.width);
  auto type = cast<RankedTensorType>(anchor.pointers.getType());
  unsigned bits = bitsOf(type), own = anchor.width * bits / 8; // bytes, with gaps behind them
  int64_t whole = std::min<int64_t>(machine_.costs.lineBytes,
                                    axes_.at(anchor.pointers).contiguity[anchor.order[0]] * bits / 8);
  if (anchor.isLoad || run <= anchor.width || 2 * own > whole ||
      (anchor.isAtomic && own >= machine_.costs.coalescedBytes))
    return instructions; // a load's: as they are, loadedBytes
  // Into shared memory, and from there.
  double moved = double(bits) / machine_.accessBits;
  return instructions + moved * (anchor.isAtomic ? machine_.costs.movedAddend : machine_.costs.movedResult);
}

namespace {

// The addresses that a warp asks for, one after the other, to fill its registers with such a tile.
double addressesOf(const Layout &layout) {
  double addresses = 1;
  for (Axis axis : {Axis::Register, Axis::Lane})
    for (uint32_t basis : layout.bases(axis))
      addresses *= basis == 0 ? 1 : 2;
  return addresses;
}

} // namespace

bool LayoutChoice::suits(Value leader, const Layout &layout) const {
  auto anchors = anchors_.find(leader);
  return anchors == anchors_.end() || llvm::all_of(anchors->second, [&](const Anchor &anchor) {
           if (!anchor.isAccess)
             return true; // no memory whose addresses a layout could scatter
           // In a loop each trip would wait for its warps to meet.
           if (anchor.isLoad && anchor.isScattered && anchor.width == 1 && anchor.trips == 1)
             return addressesOf(layout) < machine_.costs.repeatedScatter *
                                              addressesOf(build(anchor.pointers.getType(), anchor.order, 1));
           unsigned bits = anchor.width * bitsOf(anchor.pointers.getType());
           unsigned best = contiguousBytes(coalesced(anchor.pointers, anchor.mask, bits), anchor.pointers,
                                           anchor.mask, bits);
           unsigned found = anchor.isLoad ? loadedBytes(layout, anchor.pointers, anchor.mask)
                                          : contiguousBytes(layout, anchor.pointers, anchor.mask, bits);
           return found >= std::min(machine_.costs.coalescedBytes, best) || isCheaperAgain(anchor, layout);
         });
}

bool LayoutChoice::isCheaperAgain(const Anchor &anchor, const Layout &layout) const {
  if (!anchor.isLoad || anchor.trips == 1)
    return false;
  const unsigned dim = anchor.order[0], bits = bitsOf(anchor.pointers.getType());
  const Layout best = coalesced(anchor.pointers, anchor.mask, machine_.accessBits);
  const layout::ConversionCosts costs;
  layout::ConversionPlan moved = layout::planConversion(best, layout, bits);
  auto costOfLoads = [&](const Layout &layout) {
    unsigned width = std::min(anchor.width, layout.contiguous(dim));
    unsigned accesses = std::max(1u, unsigned(layout.liveRegisters().size()) / width);
    auto moving = llvm::count_if(layout.bases(Axis::Lane), [](uint32_t basis) { return basis != 0; });
    unsigned bytes = (width * bits / 8) << moving; // of an access of a warp, in runs
    unsigned run = contiguousBytes(layout, anchor.pointers, anchor.mask, machine_.accessBits);
    return accesses * (costs.sharedAddress + std::max(1u, bytes / run) * costs.wavefront);
  };
  return costOfLoads(layout) <= costOfLoads(best) + moved.cost;
}

LayoutChoice::Anchor LayoutChoice::anchorOf(Operation *op, Value pointers, Value mask) {
  Anchor anchor{pointers, mask, axes_.order(pointers)};
  anchor.isLoad = isa<LoadOp>(op);
  anchor.isAccess = accessOf(op).has_value();
  anchor.isAtomic = isa<AtomicRMWOp, AtomicCASOp>(op);
  auto type = cast<RankedTensorType>(pointers.getType());
  unsigned dim = anchor.order[0];
  anchor.weight = double(type.getNumElements()) * bitsOf(type);
  if (isa<GatherOp>(op) || axes_.at(pointers).contiguity[dim] == 1) {
    // Scattered: no layout helps, unless a thread can use what it reads for several elements.
    anchor.width = locality_.sharingRun(pointers, dim, machine_.costs.longestSharedRun);
    anchor.weight /= anchor.width == 1 ? machine_.costs.scatteredWeight : machine_.costs.sharedRunWeight;
    anchor.isScattered = true;
  } else {
    anchor.width = axes_.accessWidth(pointers, mask, dim, accessBits(op));
  }
  for (Operation *parent = op->getParentOp(); parent && !isa<FuncOp>(parent); parent = parent->getParentOp())
    if (isa<LoopLikeOpInterface>(parent))
      anchor.trips *= machine_.costs.loopWeight;
  anchor.weight *= anchor.trips;
  return anchor;
}

void LayoutChoice::collectAnchors(FuncOp function) {
  function.walk([&](Operation *op) {
    if (auto gather = dyn_cast<GatherOp>(op)) {
      anchors_[classes_.leader(gather.getResult())].push_back(anchorOf(op, gather.getIndices(), {}));
      return;
    }
    std::optional<AccessOperands> access = accessOf(op);
    if (!access || !isTile(access->pointers))
      return;
    Value member;
    for (Value value : {access->pointers, access->mask})
      if (value && isTile(value) && classes_.isData(value))
        member = value;
    for (Value value : op->getOperands())
      if (isTile(value) && classes_.isData(value) &&
          shapeOf(value.getType()) == shapeOf(access->pointers.getType()))
        member = value;
    for (Value result : op->getResults())
      if (isTile(result))
        member = result;
    if (member)
      anchors_[classes_.leader(member)].push_back(anchorOf(op, access->pointers, access->mask));
  });
}

unsigned LayoutChoice::accessBits(Operation *op) const {
  if (!isa<AtomicRMWOp, AtomicCASOp>(op))
    return machine_.accessBits;
  auto addition = dyn_cast<AtomicRMWOp>(op);
  bool isGroup = addition && addition.getKind() == AtomicKind::FAdd && addition->use_empty();
  unsigned elements = isGroup ? machine_.addedAtOnce(elementType(addition.getValue().getType())) : 1;
  return elements * bitsOf(op->getOperand(0).getType());
}

Layout LayoutChoice::coalesced(Value pointers, Value mask, unsigned bits) const {
  SmallVector<unsigned> order = axes_.order(pointers);
  return build(pointers.getType(), order, axes_.accessWidth(pointers, mask, order[0], bits));
}

unsigned LayoutChoice::loadedBytes(const Layout &layout, Value pointers, Value mask) const {
  unsigned dim = axes_.order(pointers)[0], bits = bitsOf(pointers.getType());
  int64_t run =
      std::min(layout::runOfWarp(layout, dim, layout.contiguous(dim)), axes_.at(pointers).contiguity[dim]);
  return std::max(contiguousBytes(layout, pointers, mask, machine_.accessBits), unsigned(run) * bits / 8);
}

unsigned LayoutChoice::contiguousBytes(const Layout &layout, Value pointers, Value mask,
                                       unsigned bits) const {
  unsigned dim = axes_.order(pointers)[0];
  unsigned width = axes_.accessWidth(pointers, mask, dim, bits);
  int64_t reach = std::min(layout::runOfWarp(layout, dim, width),
                           std::max<int64_t>(axes_.at(pointers).contiguity[dim], 1));
  return std::min<unsigned>(machine_.costs.lineBytes, unsigned(reach) * bitsOf(pointers.getType()) / 8);
}

} // namespace tegula::convert
