// Conversions inside each warp. Source and destination are linear, so for destination word d of lane l of
// warp w the source word and the source lane are sums of a part of d, one of l and one of w:
//   word(d, l, w) = Rd d + Rl l + Rw w        lane(d, l, w) = Ld d + Ll l + Lw w
// A shuffle moves one word a lane, chosen by the *source* lane. So: each lane permutes its words by xor with
// P(lane) (Rotate), slot y of destination lane l reads word S(y) of lane l' = L0 l + Lw w + V(y) (Shuffle),
// and each lane permutes the slots by xor with Q(lane) (Rotate). The slots are the destination's words, and
// more where one source lane must send several words to lanes that have no slot to spare. With l' = lane(d,
// l, w) for y = d + Q l:
//   S d + P Ld d = Rd d      S Q l + P Ll l = Rl l      L0 + V Q = Ll      V d = Ld d
#include "layout/Candidates.h"
#include "layout/Linear.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace tegula::layout {

bool ConversionStep::keepsLanes() const {
  for (unsigned bit = 0; bit != laneBits; ++bit)
    if (laneImages[bit] != 1u << bit)
      return false;
  return std::all_of(warpImages.begin(), warpImages.end(), [](uint8_t image) { return image == 0; });
}

unsigned ConversionStep::laneOf(unsigned lane, unsigned warp) const {
  unsigned result = 0;
  for (unsigned bit = 0; bit != laneBits; ++bit)
    if (lane >> bit & 1)
      result ^= laneImages[bit];
  for (unsigned bit = 0; bit != warpImages.size(); ++bit)
    if (warp >> bit & 1)
      result ^= warpImages[bit];
  return result;
}

namespace {
using Images = std::vector<uint32_t>;

// The source of each destination bit: the word bits and the lane bits that it comes from.
struct Origins {
  Images wordOfWord, laneOfWord, wordOfLane, laneOfLane, wordOfWarp, laneOfWarp;
};

Images concatenated(Images a, const Images &b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// `packedBits` register bits are the same on both sides and stay inside of a word.
std::optional<Origins> origins(const Layout &from, const Layout &to, unsigned packedBits, bool stayInLane) {
  Images words(from.bases(Axis::Register).begin() + packedBits, from.bases(Axis::Register).end());
  const Images &lanes = from.bases(Axis::Lane);
  Span wordSpan(words), wordsFirst(concatenated(words, lanes)), lanesFirst(concatenated(lanes, words));
  Origins result;
  auto splitAt = [](uint64_t members, size_t low) {
    return std::pair(uint32_t(members & ((uint64_t(1) << low) - 1)), uint32_t(members >> low));
  };
  for (size_t bit = packedBits; bit < to.bases(Axis::Register).size(); ++bit) {
    auto found = wordsFirst.solve(to.bases(Axis::Register)[bit]);
    if (!found)
      return std::nullopt;
    auto [word, lane] = splitAt(*found, words.size());
    result.wordOfWord.push_back(word);
    result.laneOfWord.push_back(lane);
  }
  for (unsigned bit = 0; bit != laneBits; ++bit) {
    uint32_t target = to.bases(Axis::Lane)[bit];
    auto here = wordSpan.solve(target ^ lanes[bit]);
    if (here && (stayInLane || *here == 0)) {
      result.wordOfLane.push_back(uint32_t(*here));
      result.laneOfLane.push_back(1u << bit);
      continue;
    }
    auto found = lanesFirst.solve(target);
    if (!found)
      return std::nullopt;
    auto [lane, word] = splitAt(*found, lanes.size());
    result.wordOfLane.push_back(word);
    result.laneOfLane.push_back(lane);
  }
  for (size_t bit = 0; bit != to.bases(Axis::Warp).size(); ++bit) {
    auto found = wordsFirst.solve(to.bases(Axis::Warp)[bit] ^ from.bases(Axis::Warp)[bit]);
    if (!found)
      return std::nullopt;
    auto [word, lane] = splitAt(*found, words.size());
    result.wordOfWarp.push_back(word);
    result.laneOfWarp.push_back(lane);
  }
  return result;
}

// P, Q, S, V, L0 of the head of this file.
struct Decomposition {
  Images before, beforeOfWarp; // P, by lane bit; and by warp bit
  Images after;                // Q, by lane bit
  Images slotWord, slotLane;   // S and V, by slot bit; the first are the destination's word bits
  Images lane;                 // L0, by lane bit
};

Decomposition decompose(const Origins &o) {
  Decomposition result;
  result.slotLane = o.laneOfWord;
  result.after.assign(laneBits, 0);
  // Lane bits with a new source lane keep Q = 0 and prescribe P there. The others see the same source lanes
  // again: where they need another word, they must use another slot.
  Span sourceLanes, moreWords;
  Images at, value, extraSlots; // P(at[i]) = value[i]
  std::vector<unsigned> dependent;
  Images unitOf; // the lane bit of each insertion into sourceLanes
  for (unsigned bit = 0; bit != laneBits; ++bit) {
    if (!sourceLanes.contains(o.laneOfLane[bit])) {
      sourceLanes.insert(o.laneOfLane[bit]);
      unitOf.push_back(bit);
      at.push_back(o.laneOfLane[bit]);
      value.push_back(o.wordOfLane[bit]);
    } else {
      dependent.push_back(bit);
    }
  }
  Span prescribed(at);
  Images slotOfInsertion, sharedWord(o.laneOfWord.size(), 0);
  std::vector<bool> shared(o.laneOfWord.size(), false);
  for (unsigned bit : dependent) {
    uint64_t units = *sourceLanes.solve(o.laneOfLane[bit]);
    uint32_t word =
        o.wordOfLane[bit]; // that this bit and `units` together, which read one source lane, differ in
    for (size_t i = 0; i != unitOf.size(); ++i)
      if (units >> i & 1)
        word ^= o.wordOfLane[unitOf[i]];
    if (auto earlier = moreWords.solve(word)) {
      for (size_t i = 0; i != slotOfInsertion.size(); ++i)
        if (*earlier >> i & 1)
          result.after[bit] ^= slotOfInsertion[i];
      continue;
    }
    // A slot bit that goes to another source lane anyway, or a new one.
    size_t slot = 0;
    while (slot != shared.size() && (shared[slot] || prescribed.contains(o.laneOfWord[slot])))
      ++slot;
    if (slot != shared.size()) {
      shared[slot] = true;
      sharedWord[slot] = word;
      prescribed.insert(o.laneOfWord[slot]);
      at.push_back(o.laneOfWord[slot]);
      value.push_back(o.wordOfWord[slot] ^ word);
    } else {
      slot = shared.size() + extraSlots.size();
      extraSlots.push_back(word);
    }
    moreWords.insert(word);
    slotOfInsertion.push_back(1u << slot);
    result.after[bit] = 1u << slot;
  }
  for (uint32_t unit : completion(at, laneBits)) {
    at.push_back(unit);
    value.push_back(0);
  }
  Span lanes(at);
  for (unsigned bit = 0; bit != laneBits; ++bit)
    result.before.push_back(image(value, uint32_t(*lanes.solve(1u << bit))));
  for (size_t slot = 0; slot != shared.size(); ++slot)
    result.slotWord.push_back(shared[slot] ? sharedWord[slot]
                                           : o.wordOfWord[slot] ^ image(result.before, o.laneOfWord[slot]));
  for (uint32_t word : extraSlots) {
    result.slotWord.push_back(word);
    result.slotLane.push_back(0);
  }
  for (unsigned bit = 0; bit != laneBits; ++bit)
    result.lane.push_back(o.laneOfLane[bit] ^ image(result.slotLane, result.after[bit]));
  for (size_t bit = 0; bit != o.wordOfWarp.size(); ++bit)
    result.beforeOfWarp.push_back(o.wordOfWarp[bit] ^ image(result.before, o.laneOfWarp[bit]));
  return result;
}

// Words permuted by xor with a sum over lane and warp bits: one step a dimension of the sums.
void appendRotations(std::vector<ConversionStep> &steps, const Images &ofLane, const Images &ofWarp) {
  Images all = concatenated(ofLane, ofWarp), masks;
  std::vector<uint64_t> conditions;
  Span span;
  std::vector<size_t> stepOfInsertion;
  for (size_t bit = 0; bit != all.size(); ++bit) {
    if (auto earlier = span.solve(all[bit])) {
      for (size_t i = 0; i != stepOfInsertion.size(); ++i)
        if (*earlier >> i & 1)
          conditions[stepOfInsertion[i]] |= uint64_t(1) << bit;
      continue;
    }
    span.insert(all[bit]);
    stepOfInsertion.push_back(masks.size());
    masks.push_back(all[bit]);
    conditions.push_back(uint64_t(1) << bit);
  }
  for (size_t i = 0; i != masks.size(); ++i) {
    ConversionStep step{};
    step.kind = ConversionStep::Kind::Rotate;
    step.wordMask = masks[i];
    step.laneMask = unsigned(conditions[i] & ((1u << laneBits) - 1));
    step.warpMask = unsigned(conditions[i] >> laneBits);
    steps.push_back(std::move(step));
  }
}

std::vector<ConversionStep> stepsOf(const Decomposition &d, const Origins &o) {
  std::vector<ConversionStep> steps;
  appendRotations(steps, d.before, d.beforeOfWarp);
  ConversionStep move{};
  bool lanesMove = false;
  for (uint32_t slot = 0; slot != 1u << d.slotWord.size(); ++slot) {
    move.sources.push_back(int(image(d.slotWord, slot)));
    move.offsets.push_back(uint8_t(image(d.slotLane, slot)));
    lanesMove |= move.offsets.back() != 0;
  }
  std::copy(d.lane.begin(), d.lane.end(), move.laneImages.begin());
  move.warpImages.assign(o.laneOfWarp.begin(), o.laneOfWarp.end());
  move.kind = lanesMove || !move.keepsLanes() ? ConversionStep::Kind::Shuffle : ConversionStep::Kind::Rename;
  steps.push_back(std::move(move));
  appendRotations(steps, d.after, {});
  if (d.slotWord.size() != o.wordOfWord.size()) {
    ConversionStep drop{};
    drop.kind = ConversionStep::Kind::Rename;
    for (uint32_t word = 0; word != 1u << o.wordOfWord.size(); ++word)
      drop.sources.push_back(int(word));
    steps.push_back(std::move(drop));
  }
  return steps;
}

// Fills in what is needed of each step, from the live words of the destination backwards.
void markNeeded(std::vector<ConversionStep> &steps, std::vector<bool> needed, size_t sourceWords) {
  for (size_t i = steps.size(); i-- != 0;) {
    ConversionStep &step = steps[i];
    step.needed = needed;
    if (step.kind == ConversionStep::Kind::Rotate) {
      for (size_t word = 0; word != needed.size(); ++word)
        if (step.needed[word])
          needed[word ^ step.wordMask] = true;
      continue;
    }
    size_t words = sourceWords;
    for (size_t k = i; k-- != 0;)
      if (steps[k].kind != ConversionStep::Kind::Rotate) {
        words = steps[k].sources.size();
        break;
      }
    needed.assign(words, false);
    for (size_t word = 0; word != step.sources.size(); ++word) {
      if (step.needed[word])
        needed[size_t(step.sources[word])] = true;
      else
        step.sources[word] = -1;
    }
  }
}

unsigned exchangeCost(const ConversionPlan &plan, unsigned elementBits, const ConversionCosts &costs) {
  unsigned words = std::max(1u, elementBits * plan.packed / 32), cost = 0;
  for (const ConversionStep &step : plan.steps) {
    bool moves = false, keeps = step.keepsLanes();
    for (size_t word = 0; word != step.needed.size(); ++word) {
      if (!step.needed[word])
        continue;
      if (step.kind == ConversionStep::Kind::Rotate)
        cost += costs.select * words;
      bool moved = step.kind == ConversionStep::Kind::Shuffle && (!keeps || step.offsets[word] != 0);
      cost += moved ? costs.shuffle * words : 0;
      moves |= moved;
    }
    cost += moves ? costs.shuffleLatency : 0;
  }
  if (plan.packed > 1)
    for (const ConversionStep *end : {&plan.steps.front(), &plan.steps.back()})
      cost += costs.pack * plan.packed * unsigned(std::count(end->needed.begin(), end->needed.end(), true));
  return cost;
}

// Without a cost.
std::optional<ConversionPlan> planPacked(const Layout &from, const Layout &to, unsigned packedBits,
                                         bool staysInLane) {
  std::optional<Origins> origin = origins(from, to, packedBits, staysInLane);
  if (!origin)
    return std::nullopt;
  ConversionPlan plan;
  plan.kind = ConversionPlan::Kind::Shuffle;
  plan.packed = 1u << packedBits;
  plan.staysInLane = staysInLane;
  plan.steps = stepsOf(decompose(*origin), *origin);
  if (plan.steps.size() == 1 && plan.steps[0].kind == ConversionStep::Kind::Rename) {
    plan.kind = ConversionPlan::Kind::Registers;
    for (unsigned reg = 0; reg != to.size(Axis::Register); ++reg)
      plan.sourceRegister.push_back(unsigned(plan.steps[0].sources[reg >> packedBits]) << packedBits |
                                    (reg & (plan.packed - 1)));
    plan.steps.clear();
    return plan;
  }
  std::vector<bool> live(size_t(to.size(Axis::Register)) >> packedBits, false);
  for (unsigned reg : to.liveRegisters())
    live[reg >> packedBits] = true;
  markNeeded(plan.steps, std::move(live), size_t(from.size(Axis::Register)) >> packedBits);
  return plan;
}

// Do runs of this many registers hold the same neighbours on both sides, and fit in a word of 32 bits?
bool canPack(const Layout &from, const Layout &to, unsigned packedBits, unsigned elementBits) {
  const auto &a = from.bases(Axis::Register), &b = to.bases(Axis::Register);
  return packedBits == 0 ||
         ((elementBits << packedBits) <= 32 && packedBits <= std::min(a.size(), b.size()) &&
          std::equal(a.begin(), a.begin() + packedBits, b.begin()));
}
} // namespace

std::pair<Layout, Layout> samePlaces(const Layout &from, const Layout &to) {
  size_t warps = std::max(from.bases(Axis::Warp).size(), to.bases(Axis::Warp).size());
  auto extended = [&](const Layout &layout) {
    Layout::Bases bases = layout.allBases();
    bases[size_t(Axis::Lane)].resize(laneBits, 0);
    bases[size_t(Axis::Warp)].resize(warps, 0);
    return Layout(layout.extents(), std::move(bases));
  };
  return {extended(from), extended(to)};
}

bool staysWithinWarp(const Layout &from, const Layout &to) { return origins(from, to, 0, true).has_value(); }

std::optional<ConversionPlan> planWithinWarp(const Layout &from, const Layout &to, unsigned elementBits,
                                             const ConversionCosts &costs) {
  assert(from.extents() == to.extents() && from.bases(Axis::Block) == to.bases(Axis::Block));
  if (from == to)
    return ConversionPlan();
  elementBits = std::max(8u, elementBits);
  auto [source, destination] = samePlaces(from, to);
  std::optional<ConversionPlan> best;
  for (unsigned packedBits = 0; canPack(source, destination, packedBits, elementBits); ++packedBits)
    for (bool staysInLane : {true, false}) {
      std::optional<ConversionPlan> plan = planPacked(source, destination, packedBits, staysInLane);
      if (!plan)
        continue;
      if (plan->kind == ConversionPlan::Kind::Registers)
        return plan; // nothing is cheaper
      plan->cost = exchangeCost(*plan, elementBits, costs);
      // Fewer words at the same cost: the shuffles' unit is the narrower one.
      if (!best || plan->cost < best->cost || (plan->cost == best->cost && plan->packed > best->packed))
        best = std::move(plan);
    }
  return best;
}

std::optional<ConversionPlan> withinWarpAsChosen(const ConversionChoice &choice, const Layout &from,
                                                 const Layout &to, unsigned elementBits) {
  auto [source, destination] = samePlaces(from, to);
  unsigned packedBits = unsigned(std::countr_zero(choice.packed));
  if (!std::has_single_bit(choice.packed) || packedBits > 2 ||
      !canPack(source, destination, packedBits, elementBits))
    return std::nullopt;
  return planPacked(source, destination, packedBits, choice.staysInLane);
}

} // namespace tegula::layout
