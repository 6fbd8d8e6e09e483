// Conversions through shared memory: a map of offsets, and for each side the list of accesses under it.
#include "layout/Candidates.h"
#include "layout/Linear.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <map>

namespace tegula::layout {

uint32_t SharedSide::threadMask() const {
  uint32_t mask = 0;
  for (uint32_t offset : laneOffsets)
    mask |= offset;
  for (uint32_t offset : warpOffsets)
    mask |= offset;
  return mask;
}

namespace {
using Groups = std::map<uint32_t, std::vector<int>>; // accesses by whole offset

SharedSide sideOf(const Layout &layout, const SharedMap &map, unsigned elementBits) {
  SharedSide side;
  side.width = accessWidth(layout, map, elementBits);
  side.wavefronts = wavefronts(layout, map, side.width, elementBits);
  for (uint32_t image : layout.bases(Axis::Lane))
    side.laneOffsets.push_back(map.offset(image));
  for (uint32_t image : layout.bases(Axis::Warp))
    side.warpOffsets.push_back(map.offset(image));
  return side;
}

// The live registers without repetitions, gathered into accesses.
Groups accessesOf(const Layout &layout, const SharedMap &map, unsigned width) {
  Groups groups;
  uint32_t repeated = layout.freeBits(Axis::Register);
  for (unsigned reg : layout.liveRegisters()) {
    if (reg & repeated)
      continue;
    uint32_t offset = map.offset(layout.apply(reg, 0, 0));
    std::vector<int> &group = groups.try_emplace(offset & ~(width - 1), width, -1).first->second;
    group[offset & (width - 1)] = int(reg);
  }
  return groups;
}

std::vector<std::pair<unsigned, unsigned>> copiesOf(const Layout &to) {
  std::vector<std::pair<unsigned, unsigned>> copies;
  uint32_t repeated = to.freeBits(Axis::Register);
  if (!repeated)
    return copies;
  Span registers(to.bases(Axis::Register));
  for (unsigned reg : to.liveRegisters())
    if (reg & repeated)
      copies.emplace_back(reg, unsigned(*registers.solve(to.apply(reg, 0, 0))));
  return copies;
}

// The largest offset + 1 that any thread reaches with these accesses, in elements of a round.
uint64_t reach(const SharedSide &side, const Groups &groups, uint32_t roundMask) {
  Span threads(side.laneOffsets);
  for (uint32_t offset : side.warpOffsets)
    threads.insert(offset);
  uint64_t most = 0;
  for (const auto &[offset, registers] : groups) {
    uint32_t at = offset & roundMask;
    for (uint32_t row : threads.basis())
      at = std::max(at, at ^ row);
    most = std::max<uint64_t>(most, uint64_t(at) + side.width);
  }
  return most;
}

void append(std::vector<SharedRound> &rounds, std::vector<SharedAccess> SharedRound::*side,
            const Groups &groups, uint32_t roundMask, unsigned roundShift) {
  for (const auto &[offset, registers] : groups)
    (rounds[uint64_t(offset) >> roundShift].*side).push_back({offset & roundMask, registers});
}

// Masks of coordinate bits whose parity only registers decide, on both sides: `count` of them that split the
// tile into rounds, at best none that parts a vector of the map without rounds.
std::vector<uint32_t> roundMasks(const Layout &store, const Layout &load, const SharedMap &whole,
                                 unsigned elementBits, unsigned count) {
  std::vector<uint32_t> threads;
  for (const Layout *layout : {&store, &load})
    for (Axis axis : {Axis::Lane, Axis::Warp})
      threads.insert(threads.end(), layout->bases(axis).begin(), layout->bases(axis).end());
  std::vector<uint32_t> withVectors = threads, coordinates = *inverse(whole.images);
  unsigned width = std::max(accessWidth(store, whole, elementBits), accessWidth(load, whole, elementBits));
  for (unsigned bit = 0; 1u << bit < width; ++bit)
    withVectors.push_back(coordinates[bit]);
  std::vector<uint32_t> result;
  Span chosen;
  for (const auto &fixed : {withVectors, threads}) {
    std::vector<uint32_t> masks = annihilator(fixed, store.totalBits());
    std::sort(masks.rbegin(), masks.rend());
    for (uint32_t mask : masks)
      if (result.size() < count && chosen.insert(mask))
        result.push_back(mask);
  }
  return result;
}

// The accesses of both sides under a map, without a cost.
ConversionPlan planRounds(const Layout &from, const Layout &to, unsigned elementBits, const SharedMap &map,
                          unsigned roundBits) {
  ConversionPlan plan;
  plan.kind = ConversionPlan::Kind::Shared;
  plan.map = map;
  plan.roundBits = roundBits;
  SharedExchange &shared = plan.shared;
  Layout store = storingPart(from);
  unsigned roundShift = from.totalBits() - roundBits;
  shared.store = sideOf(store, map, elementBits);
  shared.load = sideOf(to, map, elementBits);
  shared.freeLanes = from.freeBits(Axis::Lane);
  shared.freeWarps = from.freeBits(Axis::Warp);
  shared.copies = copiesOf(to);
  plan.withinWarp = shared.freeWarps == 0 && staysWithinWarp(from, to);
  uint32_t roundMask = uint32_t((uint64_t(1) << roundShift) - 1);
  Groups stores = accessesOf(store, map, shared.store.width), loads = accessesOf(to, map, shared.load.width);
  shared.rounds.resize(size_t(1) << roundBits);
  append(shared.rounds, &SharedRound::stores, stores, roundMask, roundShift);
  append(shared.rounds, &SharedRound::loads, loads, roundMask, roundShift);
  std::erase_if(shared.rounds, [](const SharedRound &round) { return round.loads.empty(); });
  uint64_t elements = std::max(reach(shared.store, stores, roundMask), reach(shared.load, loads, roundMask));
  plan.scratchBytes = (elements * elementBits / 8 + 15) / 16 * 16;
  return plan;
}

unsigned costOf(const ConversionPlan &plan, const ConversionCosts &costs) {
  const SharedExchange &shared = plan.shared;
  unsigned rounds = unsigned(shared.rounds.size()), stores = 0, loads = 0;
  for (const SharedRound &round : shared.rounds) {
    stores += unsigned(round.stores.size());
    loads += unsigned(round.loads.size());
  }
  return (2 * rounds - 1) * (plan.withinWarp ? costs.warpBarrier : costs.barrier) +
         rounds * costs.sharedLatency +
         stores * (costs.wavefront * shared.store.wavefronts + costs.sharedAddress) +
         loads * (costs.wavefront * shared.load.wavefronts + costs.sharedAddress);
}
} // namespace

ConversionPlan planShared(const Layout &from, const Layout &to, unsigned elementBits, uint64_t scratchBudget,
                          const ConversionCosts &costs) {
  assert(from.extents() == to.extents() && from.bases(Axis::Block) == to.bases(Axis::Block));
  elementBits = std::max(8u, elementBits);
  auto [source, destination] = samePlaces(from, to);
  Layout store = storingPart(source);
  std::vector<uint32_t> everything = linearMap(from.totalBits()).images;
  SharedMap whole = bestMap(store, destination, elementBits, {}, everything);
  ConversionPlan plan = planRounds(source, destination, elementBits, whole, 0);
  for (unsigned count = 1; plan.scratchBytes > scratchBudget; ++count) {
    std::vector<uint32_t> masks = roundMasks(store, destination, whole, elementBits, count);
    if (masks.size() < count)
      break;
    SharedMap map = bestMap(store, destination, elementBits, {}, annihilator(masks, from.totalBits()));
    plan = planRounds(source, destination, elementBits, map, count);
  }
  plan.cost = costOf(plan, costs);
  return plan;
}

std::optional<ConversionPlan> sharedAsChosen(const ConversionChoice &choice, const Layout &from,
                                             const Layout &to, unsigned elementBits) {
  unsigned bits = from.totalBits();
  auto isOutside = [&](uint32_t image) { return uint64_t(image) >> bits != 0; };
  if (choice.map.images.size() != bits || !choice.map.isInjective() || choice.roundBits > bits ||
      std::any_of(choice.map.images.begin(), choice.map.images.end(), isOutside))
    return std::nullopt;
  auto [source, destination] = samePlaces(from, to);
  ConversionPlan plan = planRounds(source, destination, elementBits, choice.map, choice.roundBits);
  uint64_t moved = plan.shared.store.threadMask() | plan.shared.load.threadMask();
  if (moved >> (bits - choice.roundBits))
    return std::nullopt; // only registers tell rounds apart
  return plan;
}

} // namespace tegula::layout
