// A sorting network of n bits combines pairs along its lowest bit n times, along its highest one once. To
// bring a pair together costs nothing in a thread, in a warp a shuffle of each element, across warps a trip
// through shared memory with barriers. So the bits that are combined along most often become registers, those
// that are least often warps; accesses that would be scattered by that convert.
#include "convert/PairedTiles.h"
#include "convert/ReducedTiles.h"
#include "ir/simt/Scratch.h"
#include "ir/tile/Elementwise.h"
#include "layout/Conversion.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace mlir;
using namespace tegula::tile;
using tegula::layout::Axis;
using tegula::layout::Layout;

namespace tegula::convert {

namespace {

// Of fewer bits, accesses and neighbours know better.
constexpr int fewestBits = 3;

bool arePowers(Type tile) {
  return llvm::all_of(shapeOf(tile), [](int64_t extent) { return llvm::isPowerOf2_64(uint64_t(extent)); });
}

// The same tile under the extents of another one of its group.
Layout under(Type tile, const Layout &layout) { return {shapeOf(tile).vec(), layout.allBases()}; }

} // namespace

PairedTiles::PairedTiles(FuncOp function, const Classes &classes, const simt::Machine &machine,
                         unsigned warps)
    : machine_(machine), warps_(warps) {
  auto isMember = [&](Value value) {
    return isTile(value) && classes.isData(value) && arePowers(value.getType());
  };
  llvm::EquivalenceClasses<void *> tied;
  function.walk([&](ReshapeOp reshape) {
    if (isMember(reshape.getOperand()) && isMember(reshape.getResult()))
      tied.unionSets(classes.leader(reshape.getOperand()).getAsOpaquePointer(),
                     classes.leader(reshape.getResult()).getAsOpaquePointer());
  });
  llvm::DenseMap<void *, size_t> numbers; // of groups, by what stands for them in `tied`
  for (Value leader : classes.leaders())
    if (auto found = tied.findLeader(leader.getAsOpaquePointer()); found != tied.member_end()) {
      auto [number, isNew] = numbers.try_emplace(*found, groups_.size());
      if (isNew)
        groups_.emplace_back();
      groups_[number->second].leaders.push_back(leader);
    }
  auto groupOf = [&](Value value) -> Group * {
    if (!isMember(value))
      return nullptr;
    auto found = tied.findLeader(classes.leader(value).getAsOpaquePointer());
    return found == tied.member_end() ? nullptr : &groups_[numbers.find(*found)->second];
  };
  auto collect = [&](Operation *op) {
    llvm::SmallSetVector<Group *, 4> mentioned;
    for (Value value : op->getOperands())
      mentioned.insert(groupOf(value));
    auto reduce = dyn_cast<ReduceOp>(op);
    if (Group *group = reduce ? groupOf(op->getOperand(0)) : nullptr) {
      group->reductions.push_back(reduce);
      mentioned.clear(); // where the elements are: no crossing
    }
    for (Value value : op->getResults())
      mentioned.insert(groupOf(value));
    mentioned.remove(nullptr);
    for (Group *group : mentioned) {
      group->isBound |= isa<DotOp, ScanOp>(op);
      group->crossings.push_back(op);
    }
  };
  function.walk([&](Operation *op) {
    if (!isElementwise(op) &&
        !isa<ReshapeOp, ExpandDimsOp, BroadcastOp, scf::YieldOp, scf::ConditionOp>(op) &&
        !isa<RegionBranchOpInterface>(op))
      collect(op);
  });
  llvm::erase_if(groups_, [&](const Group &group) {
    return group.isBound ||
           llvm::count_if(pairsOf(group), [](double pairs) { return pairs != 0; }) < fewestBits;
  });
}

std::vector<double> PairedTiles::pairsOf(const Group &group) const {
  std::vector<double> pairs;
  for (ReduceOp reduce : group.reductions) {
    Type tile = reduce.getOperands()[0].getType();
    Layout any(shapeOf(tile).vec(), {});
    pairs.resize(any.totalBits());
    if (shapeOf(tile)[reduce.getAxis()] == 2)
      pairs[any.shift(unsigned(reduce.getAxis()))] +=
          ReducedTiles::tripsOf(reduce, machine_) * reduce.getNumOperands();
  }
  return pairs;
}

double PairedTiles::costOf(const Group &group, const Layout &layout) const {
  double cost = 0;
  for (ReduceOp reduce : group.reductions)
    cost += ReducedTiles::tripsOf(reduce, machine_) *
            ReducedTiles::costOf(reduce, under(reduce.getOperands()[0].getType(), layout), machine_);
  return cost;
}

std::optional<Layout> PairedTiles::choose(const Group &group, const Layout &otherwise) const {
  const std::vector<double> pairs = pairsOf(group);
  const unsigned warpBits = layout::bitsOf(warps_), threadBits = layout::laneBits + warpBits;
  if (otherwise.totalBits() != pairs.size() || pairs.size() < threadBits)
    return std::nullopt;
  std::vector<unsigned> bits(pairs.size()); // those that are combined along most often first
  std::iota(bits.begin(), bits.end(), 0);
  std::sort(bits.begin(), bits.end(),
            [&](unsigned a, unsigned b) { return pairs[a] != pairs[b] ? pairs[a] > pairs[b] : a < b; });
  Layout::Bases bases;
  auto take = [&](Axis axis, size_t from, size_t count) {
    std::sort(bits.begin() + long(from), bits.begin() + long(from + count));
    for (unsigned bit : ArrayRef(bits).slice(from, count))
      bases[size_t(axis)].push_back(1u << bit);
  };
  const size_t registers = pairs.size() - threadBits;
  take(Axis::Register, 0, registers);
  take(Axis::Lane, registers, layout::laneBits);
  take(Axis::Warp, registers + layout::laneBits, warpBits);
  bases[size_t(Axis::Block)] = otherwise.bases(Axis::Block);
  Layout best(otherwise.extents(), bases);
  double moved = 0;
  for (Operation *op : group.crossings) {
    Value tile = op->getNumResults() ? op->getResult(0) : op->getOperand(0);
    moved += ReducedTiles::tripsOf(op, machine_) *
             layout::planConversion(otherwise, best, simt::storedBits(elementType(tile.getType()))).cost;
  }
  return costOf(group, best) + moved < costOf(group, otherwise) ? std::optional(best) : std::nullopt;
}

} // namespace tegula::convert
