#include "transforms/PlanConverts.h"
#include "ir/simt/KnownIndices.h"
#include "ir/simt/Scratch.h"

using namespace mlir;
using tegula::layout::Axis;

namespace tegula::transforms {

namespace {

// Cycles of a warp whose lanes hand on each register that may hold an element, and choose.
unsigned costOfLanes(tile::GatherOp gather, const layout::ConversionCosts &costs) {
  unsigned words = std::max(1u, simt::storedBits(tile::elementType(gather.getType())) / 32);
  unsigned cost = costs.shuffleLatency;
  for (unsigned reg : simt::layoutOf(gather.getResult()).liveRegisters()) {
    auto candidates = unsigned(simt::gatheredFrom(gather, reg).size());
    cost += words * (candidates * costs.shuffle + (candidates - 1) * costs.select);
  }
  return cost;
}

// The same through shared memory, of a gather along the last dimension: elements that agree in the lowest
// bits of their place in a row share banks. Nothing is known of other dimensions: rows lie in different ones.
unsigned costOfShared(tile::GatherOp gather, const layout::ConversionCosts &costs) {
  constexpr unsigned bankBytes = 4;
  layout::Layout source = simt::layoutOf(gather.getSource()), result = simt::layoutOf(gather.getResult());
  unsigned words = std::max(1u, simt::storedBits(tile::elementType(gather.getType())) / 8 / bankBytes);
  unsigned wavefronts = unsigned(source.liveRegisters().size()) * words;
  bool isMixed = simt::mixesBanks(gather);
  unsigned mixing = isMixed ? 2 * unsigned(result.liveRegisters().size()) * costs.sharedAddress : 0;
  for (unsigned reg : result.liveRegisters())
    wavefronts += (isMixed ? 1 : simt::lanesOfABank(gather, reg)) * words;
  return wavefronts * costs.wavefront + mixing + costs.sharedLatency + costs.barrier;
}

// A conversion through shared memory, at which warps meet, stands behind the stores of more elements that its
// readers come after: these need not wait for it, and what they store not stay in registers.
void sinkBehindStores(simt::ConvertOp convert) {
  auto isLarger = [&](Value stored) {
    return isa<RankedTensorType>(stored.getType()) &&
           simt::registersOf(stored.getType()) > simt::registersOf(convert.getValue().getType());
  };
  Block *block = convert->getBlock();
  Operation *first = nullptr;
  for (Operation *user : convert->getUsers()) {
    Operation *here = block->findAncestorOpInBlock(*user);
    if (!first || here->isBeforeInBlock(first))
      first = here;
  }
  Operation *last = nullptr;
  for (Operation *op = convert; first && op != first; op = op->getNextNode())
    if (auto store = dyn_cast<tile::StoreOp>(op); store && isLarger(store.getValue()))
      last = op;
  if (last)
    convert->moveAfter(last);
}

} // namespace

layout::ConversionPlan planUnder(simt::ConvertOp convert, uint64_t bytes, const simt::Costs &costs) {
  layout::ConversionPlan plan = simt::planOf(convert);
  if (plan.scratchBytes <= bytes)
    return plan;
  return layout::planShared(simt::layoutOf(convert.getValue()), simt::layoutOf(convert.getResult()),
                            simt::storedBits(tile::elementType(convert.getType())), bytes, costs.conversion);
}

void planConverts(ModuleOp module, const simt::Costs &costs) {
  module.walk([&](simt::ConvertOp convert) {
    // A thread's part of a factor of multiply-adds has all of K: it is read from shared memory as it is
    // needed.
    auto planned = simt::feedsMultiplyAdds(convert.getResult()) ? layout::planShared : layout::planConversion;
    layout::ConversionPlan plan =
        planned(simt::layoutOf(convert.getValue()), simt::layoutOf(convert.getResult()),
                simt::storedBits(tile::elementType(convert.getType())), layout::defaultScratchBudget,
                costs.conversion);
    convert.setPlanAttr(simt::ConversionAttr::get(module.getContext(), plan));
  });
  SmallVector<simt::ConvertOp> exchanges;
  module.walk([&](simt::ConvertOp convert) {
    if (convert.getPlan()->isShared() && !convert.getPlan()->getWithinWarp())
      exchanges.push_back(convert);
  });
  // Beside products registers are short for what is exchanged, too, and barriers are there anyway.
  if (!module.walk([](tile::DotOp) { return WalkResult::interrupt(); }).wasInterrupted())
    llvm::for_each(llvm::reverse(exchanges), sinkBehindStores);
  module.walk([&](tile::GatherOp gather) {
    if (simt::canGatherInWarp(gather) &&
        (simt::layoutOf(gather.getSource()).size(Axis::Register) <= costs.gatheredRegisters ||
         costOfLanes(gather, costs.conversion) < costOfShared(gather, costs.conversion)))
      gather->setAttr(simt::inWarpName, UnitAttr::get(module.getContext()));
  });
}

} // namespace tegula::transforms
