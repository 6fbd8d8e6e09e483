// A recurrence keeps a tile in registers, multiplies it by lines, and reduces it in each trip to a line that
// is stored. Each lane that shares a result costs shuffles in a row for all of them; each lane that does not
// holds more elements of the lines along the reduced dimension, which it loads, too, rather than that threads
// meet for them. Candidates are layouts with 1 to 32 lanes along it.
#include "convert/ReducedTiles.h"
#include "ir/simt/Simt.h"
#include "ir/tile/Elementwise.h"
#include "layout/Builders.h"
#include "layout/Queries.h"

using namespace mlir;
using namespace tegula::tile;
using tegula::layout::Axis;
using tegula::layout::Layout;

namespace tegula::convert {

ReducedTiles::ReducedTiles(FuncOp function, const Classes &classes, const simt::Machine &machine,
                           unsigned warps)
    : classes_(classes), machine_(machine), warps_(warps) {
  function.walk([&](Operation *op) { collect(op); });
}

void ReducedTiles::collect(Operation *op) {
  auto usesOf = [&](Value tile) -> Uses * {
    return isTile(tile) && classes_.isData(tile) ? &uses_[classes_.leader(tile)] : nullptr;
  };
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    if (Uses *uses = usesOf(op->getOperand(0)); uses && shapeOf(op->getOperand(0).getType()).size() > 1)
      uses->reductions.push_back(reduce);
  } else if (isa<ScanOp, TransOp, ReshapeOp, JoinOp, SplitOp, CatOp, GatherOp>(op)) {
    for (Value operand : op->getOperands())
      if (Uses *uses = usesOf(operand))
        uses->isOrdered = true;
    for (Value result : op->getResults())
      if (Uses *uses = usesOf(result))
        uses->isOrdered = true;
  } else if (isElementwise(op) && op->getNumResults() == 1) {
    if (Uses *uses = usesOf(op->getResult(0)))
      collectSpreads(op, *uses);
  }
}

void ReducedTiles::collectSpreads(Operation *op, Uses &uses) {
  SmallVector<Operation *> work{op};
  llvm::DenseSet<Operation *> seen;
  while (!work.empty())
    for (Value operand : work.pop_back_val()->getOperands()) {
      Operation *view = operand.getDefiningOp();
      if (!view || !isTile(operand) || classes_.kind(operand) != Kind::View || !seen.insert(view).second)
        continue;
      if (isa<BroadcastOp>(view))
        uses.spreads.insert(view);
      else if (isElementwise(view))
        work.push_back(view);
    }
}

double ReducedTiles::tripsOf(Operation *op, const simt::Machine &machine) {
  double trips = 1;
  for (Operation *parent = op->getParentOp(); parent && !isa<FuncOp>(parent); parent = parent->getParentOp())
    if (isa<LoopLikeOpInterface>(parent))
      trips *= machine.costs.loopWeight;
  return trips;
}

double ReducedTiles::trips(Value leader) const {
  auto uses = uses_.find(leader);
  double most = 0;
  if (uses != uses_.end())
    for (ReduceOp reduce : uses->second.reductions)
      most = std::max(most, tripsOf(reduce));
  return most;
}

double ReducedTiles::costOf(ReduceOp reduce, const Layout &layout, const simt::Machine &machine) {
  const layout::ConversionCosts &costs = machine.costs.conversion;
  unsigned axis = unsigned(reduce.getAxis());
  auto results = unsigned(layout.sliced(axis).liveRegisters().size() * reduce.getNumOperands());
  auto steps = unsigned(layout::bitsAlong(layout, Axis::Lane, axis).size());
  auto warpSteps = unsigned(layout::bitsAlong(layout, Axis::Warp, axis).size());
  double cost = steps * (costs.shuffleLatency + results * costs.shuffle);
  if (warpSteps)
    cost += 2 * costs.barrier + costs.sharedLatency + (results * costs.wavefront << warpSteps);
  return cost;
}

// The neighbours of a line that lie in a thread's registers side by side.
static unsigned runOf(const Layout &line) {
  unsigned longest = 1;
  for (unsigned dim = 0; dim != line.rank(); ++dim)
    if (line.extents()[dim] != 1)
      longest = std::max(longest, line.contiguous(dim));
  return longest;
}

double ReducedTiles::costOf(const Uses &uses, const Layout &layout, WidthOf widthOf) const {
  double cost = 0;
  for (ReduceOp reduce : uses.reductions)
    cost += tripsOf(reduce) * costOf(reduce, layout);
  return cost + costOfSpreads(uses, layout, widthOf);
}

double ReducedTiles::costOfLines(Value leader, const Layout &layout, WidthOf widthOf) const {
  auto uses = uses_.find(leader);
  if (uses == uses_.end())
    return 0;
  double cost = costOfSpreads(uses->second, layout, widthOf);
  for (Operation *spread : uses->second.spreads) {
    double trips = 0;
    for (Operation *user : spread->getUsers())
      trips = std::max(trips, tripsOf(user));
    if (std::optional<Layout> line = simt::operandLayout(spread, layout); line && trips > tripsOf(spread))
      cost += trips * double(line->liveRegisters().size()) * machine_.costs.repeatedElement;
  }
  return cost;
}

double ReducedTiles::costOfSpreads(const Uses &uses, const Layout &layout, WidthOf widthOf) const {
  double cost = 0;
  for (Operation *spread : uses.spreads)
    if (std::optional<Layout> line = simt::operandLayout(spread, layout)) {
      Value tile = spread->getOperand(0);
      unsigned run = std::min(widthOf(tile), runOf(*line));
      double loaded = double(machine_.costs.conversion.wavefront) / run;
      cost +=
          tripsOf(spread) * double(line->liveRegisters().size()) * (machine_.costs.repeatedElement + loaded);
    }
  return cost;
}

Layout ReducedTiles::choose(Value leader, const Layout &otherwise, WidthOf widthOf) const {
  auto found = uses_.find(leader);
  if (found == uses_.end() || found->second.reductions.empty() || found->second.isOrdered)
    return otherwise;
  const Uses &uses = found->second;
  llvm::SmallSetVector<unsigned, 2> axes;
  for (ReduceOp reduce : uses.reductions)
    axes.insert(unsigned(reduce.getAxis()));
  Layout best = otherwise;
  double least = costOf(uses, best, widthOf);
  for (unsigned axis : axes) {
    unsigned run = 1; // the elements of a line along the axis that one access loads
    for (Operation *spread : uses.spreads)
      if (shapeOf(spread->getOperand(0).getType())[axis] != 1)
        run = std::max(run, widthOf(spread->getOperand(0)));
    for (unsigned lanes = 1; lanes <= 1u << layout::laneBits; lanes *= 2) {
      Layout each = layout::reductionInThreads(otherwise.extents(), axis, run, lanes, warps_,
                                               machine_.costs.fullThreads);
      if (double cost = costOf(uses, each, widthOf); cost < least) {
        least = cost;
        best = each;
      }
    }
  }
  return best;
}

} // namespace tegula::convert
