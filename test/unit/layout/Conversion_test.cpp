// Plans executed step by step on a model of the machine: every element arrives, within the warp or through
// shared memory, for thousands of pairs of layouts.
#include "Random.h"
#include "layout/Conversion.h"

#include <gtest/gtest.h>

#include <map>

using namespace tegula::layout;

namespace {
// The values of a program: by warp, lane and register (or word). A value is the flat coordinate of its
// element, or poison.
constexpr int64_t poison = -1;
using Lane = std::vector<int64_t>;
using Program = std::vector<std::vector<Lane>>;

Program valuesOf(const Layout &layout, unsigned warps) {
  Program program(warps, std::vector<Lane>(32, Lane(layout.size(Axis::Register), poison)));
  for (unsigned warp = 0; warp != warps; ++warp)
    for (unsigned lane = 0; lane != 32; ++lane)
      for (unsigned reg = 0; reg != layout.size(Axis::Register); ++reg) {
        uint32_t flat = layout.apply(reg, lane, warp);
        if (layout.isLive(reg))
          program[warp][lane][reg] = layout.contains(flat) ? flat : poison;
      }
  return program;
}

bool odd(unsigned value) { return std::popcount(value) & 1; }

// One step on one element of each word.
std::vector<Lane> execute(const ConversionStep &step, const std::vector<Lane> &old, unsigned warp) {
  std::vector<Lane> result(32);
  for (unsigned lane = 0; lane != 32; ++lane)
    for (size_t word = 0; word != step.needed.size(); ++word) {
      int64_t value = poison;
      if (step.needed[word] && step.kind == ConversionStep::Kind::Rename)
        value = old[lane].at(size_t(step.sources[word]));
      else if (step.needed[word] && step.kind == ConversionStep::Kind::Shuffle)
        value = old[step.laneOf(lane, warp) ^ step.offsets[word]].at(size_t(step.sources[word]));
      else if (step.needed[word])
        value =
            old[lane].at(odd(lane & step.laneMask) ^ odd(warp & step.warpMask) ? word ^ step.wordMask : word);
      result[lane].push_back(value);
    }
  return result;
}

Program followSteps(const ConversionPlan &plan, const Program &from, unsigned registers) {
  Program result(from.size(), std::vector<Lane>(32, Lane(registers, poison)));
  for (unsigned warp = 0; warp != from.size(); ++warp)
    for (unsigned part = 0; part != plan.packed; ++part) {
      std::vector<Lane> words(32);
      for (unsigned lane = 0; lane != 32; ++lane)
        for (size_t word = 0; word * plan.packed != from[warp][lane].size(); ++word)
          words[lane].push_back(from[warp][lane][word * plan.packed + part]);
      for (const ConversionStep &step : plan.steps)
        words = execute(step, words, warp);
      for (unsigned lane = 0; lane != 32; ++lane)
        for (size_t word = 0; word != words[lane].size(); ++word)
          result[warp][lane].at(word * plan.packed + part) = words[lane][word];
    }
  return result;
}

uint32_t threadOffset(const SharedSide &side, unsigned lane, unsigned warp) {
  uint32_t offset = 0;
  for (unsigned bit = 0; bit != side.laneOffsets.size(); ++bit)
    offset ^= lane >> bit & 1 ? side.laneOffsets[bit] : 0;
  for (unsigned bit = 0; bit != side.warpOffsets.size(); ++bit)
    offset ^= warp >> bit & 1 ? side.warpOffsets[bit] : 0;
  return offset;
}

Program followShared(const ConversionPlan &plan, const Program &from, unsigned registers,
                     unsigned elementBits) {
  const SharedExchange &shared = plan.shared;
  constexpr unsigned nobody = ~0u;
  struct Cell {
    int64_t value = poison;
    unsigned warp = nobody;
  };
  Program result(from.size(), std::vector<Lane>(32, Lane(registers, poison)));
  uint64_t elements = plan.scratchBytes * 8 / elementBits;
  unsigned faults = 0;
  for (const SharedRound &round : shared.rounds) {
    std::vector<Cell> memory(elements);
    for (unsigned warp = 0; warp != from.size(); ++warp)
      for (unsigned lane = 0; lane != 32; ++lane) {
        if ((lane & shared.freeLanes) || (warp & shared.freeWarps))
          continue;
        for (const SharedAccess &access : round.stores)
          for (unsigned i = 0; i != shared.store.width; ++i) {
            uint32_t at = threadOffset(shared.store, lane, warp) ^ access.offset;
            Cell &cell = memory.at(at + i);
            faults += at % shared.store.width != 0;
            faults += cell.warp != nobody; // two threads store to one place
            cell = {access.registers[i] < 0 ? poison : from[warp][lane].at(unsigned(access.registers[i])),
                    warp};
          }
      }
    for (unsigned warp = 0; warp != from.size(); ++warp)
      for (unsigned lane = 0; lane != 32; ++lane)
        for (const SharedAccess &access : round.loads)
          for (unsigned i = 0; i != shared.load.width; ++i) {
            uint32_t at = threadOffset(shared.load, lane, warp) ^ access.offset;
            const Cell &cell = memory.at(at + i);
            faults += at % shared.load.width != 0;
            if (access.registers[i] < 0)
              continue;
            faults += plan.withinWarp && cell.warp != nobody && cell.warp != warp;
            result[warp][lane].at(unsigned(access.registers[i])) = cell.value;
          }
  }
  EXPECT_EQ(faults, 0u);
  for (auto [copy, original] : shared.copies)
    for (auto &lanes : result)
      for (Lane &lane : lanes)
        lane.at(copy) = lane.at(original);
  return result;
}

Program follow(const ConversionPlan &plan, const Program &from, unsigned registers, unsigned elementBits) {
  if (plan.kind == ConversionPlan::Kind::None)
    return from;
  if (plan.kind == ConversionPlan::Kind::Shuffle)
    return followSteps(plan, from, registers);
  if (plan.kind == ConversionPlan::Kind::Shared)
    return followShared(plan, from, registers, elementBits);
  Program result = from;
  for (auto &lanes : result)
    for (Lane &lane : lanes) {
      Lane old = lane;
      lane.clear();
      for (unsigned source : plan.sourceRegister)
        lane.push_back(old.at(source));
    }
  return result;
}

// Everything that exists arrives. (What lies outside of the extents may be anything.)
testing::AssertionResult converts(const ConversionPlan &plan, const Layout &from, const Layout &to,
                                  unsigned warps, unsigned bits) {
  Program wanted = valuesOf(to, warps);
  Program got = follow(plan, valuesOf(from, warps), to.size(Axis::Register), bits);
  for (unsigned warp = 0; warp != warps; ++warp)
    for (unsigned lane = 0; lane != 32; ++lane)
      for (unsigned reg = 0; reg != to.size(Axis::Register); ++reg)
        if (int64_t value = wanted[warp][lane][reg]; value != poison && got[warp][lane].at(reg) != value)
          return testing::AssertionFailure() << "register " << reg << " of lane " << lane << " of warp "
                                             << warp << " has " << got[warp][lane][reg] << ", not " << value
                                             << "\nfrom " << from.text() << "\nto   " << to.text() << "\n"
                                             << plan.describe();
  return testing::AssertionSuccess();
}

Layout parsed(std::string_view text) {
  std::string error;
  std::optional<Layout> layout = Layout::parse(text, &error);
  EXPECT_TRUE(layout) << error;
  return *layout;
}
} // namespace

TEST(Conversion, EveryElementArrivesOnRandomPairs) {
  Random random(1);
  unsigned kinds[4] = {}, pairs = 2200;
  for (unsigned n = 0; n != pairs; ++n) {
    unsigned warps = 1u << random.below(4), bits = 8u << random.below(4);
    std::vector<int64_t> extents = random.extents(6 + random.below(7));
    Layout from = random.layout(extents, warps);
    // Often nearly the same, where the cheap plans live.
    Layout to = random.layout(extents, warps);
    if (random.oneIn(3)) {
      Layout::Bases bases = from.allBases();
      for (unsigned swaps = 1 + random.below(3); swaps != 0; --swaps) {
        auto &a = bases[random.below(2)], &b = bases[random.below(2)];
        if (!a.empty() && !b.empty())
          std::swap(a[random.below(unsigned(a.size()))], b[random.below(unsigned(b.size()))]);
      }
      to = Layout(extents, bases);
    }
    ConversionPlan plan = planConversion(from, to, bits);
    ++kinds[unsigned(plan.kind)];
    ASSERT_TRUE(converts(plan, from, to, warps, bits));
    std::optional<ConversionPlan> again = planAsChosen(plan, from, to, bits);
    ASSERT_TRUE(again && again->describe() == plan.describe() && converts(*again, from, to, warps, bits));
    if (std::optional<ConversionPlan> within = planWithinWarp(from, to, bits))
      ASSERT_TRUE(converts(*within, from, to, warps, bits));
    if (random.oneIn(2))
      ASSERT_TRUE(converts(planShared(from, to, bits, 2048u << random.below(4)), from, to, warps, bits));
  }
  for (unsigned kind = 1; kind != 4; ++kind)
    EXPECT_GT(kinds[kind], pairs / 100) << "kind " << kind;
}

TEST(Conversion, AChoiceForOtherLayoutsIsNone) {
  Layout from = coalesced({64, 64}, 4, 4), to = coalesced({64, 64}, std::vector{0u, 1u}, 4, 4);
  ConversionChoice choice = planConversion(from, to, 32);
  ASSERT_EQ(choice.kind, ConversionPlan::Kind::Shared);
  EXPECT_TRUE(planAsChosen(choice, from, to, 32));
  EXPECT_FALSE(planAsChosen(choice, from, to, 16)); // half of the bytes
  EXPECT_FALSE(planAsChosen(choice, from, coalesced({64, 32}, 4, 4), 32));
  auto changed = [&](auto change) {
    ConversionChoice other = choice;
    change(other);
    return planAsChosen(other, from, to, 32);
  };
  using Kind = ConversionPlan::Kind;
  for (Kind kind : {Kind::None, Kind::Registers, Kind::Shuffle})
    EXPECT_FALSE(changed([&](ConversionChoice &c) { c.kind = kind; }));
  EXPECT_FALSE(changed([](ConversionChoice &c) { c.map.images.pop_back(); }));
  EXPECT_FALSE(changed([](ConversionChoice &c) { c.map.images[0] = c.map.images[1]; }));
  EXPECT_FALSE(changed([](ConversionChoice &c) { c.map.images[0] = 1u << 12; }));
  EXPECT_FALSE(changed([](ConversionChoice &c) { c.scratchBytes -= 16; }));
  EXPECT_FALSE(changed([](ConversionChoice &c) { c.withinWarp = true; }));
  for (unsigned rounds : {1u, 13u})
    EXPECT_FALSE(changed([&](ConversionChoice &c) { c.roundBits = rounds; }));
  ConversionChoice none = planConversion(from, from, 32);
  none.packed = 3;
  EXPECT_FALSE(planAsChosen(none, from, from, 32));
}

TEST(Conversion, EqualLayoutsNeedNothing) {
  Layout layout = coalesced({64, 64}, 4, 4);
  EXPECT_EQ(planConversion(layout, layout, 32).kind, ConversionPlan::Kind::None);
}

TEST(Conversion, ReplicasAndOrderOfRegistersAreRenames) {
  Layout from = parsed("[256] register=[(1),(2)] lane=[(4),(8),(16),(32),(64)] warp=[(128)]");
  Layout to = parsed("[256] register=[(2),(0),(1)] lane=[(4),(8),(16),(32),(64)] warp=[(128)]");
  ConversionPlan plan = planConversion(from, to, 32);
  ASSERT_EQ(plan.kind, ConversionPlan::Kind::Registers);
  EXPECT_EQ(plan.sourceRegister, (std::vector<unsigned>{0, 2, 0, 2, 1, 3, 1, 3}));
}

TEST(Conversion, AWarpsReplicaIsChosenWithoutTraffic) {
  // Each warp holds everything and keeps its part: selects only.
  Layout from = parsed("[64] register=[(32)] lane=[(1),(2),(4),(8),(16)] warp=[(0)]");
  Layout to = parsed("[64] register=[] lane=[(1),(2),(4),(8),(16)] warp=[(32)]");
  ConversionPlan plan = planConversion(from, to, 32);
  ASSERT_EQ(plan.kind, ConversionPlan::Kind::Shuffle);
  for (const ConversionStep &step : plan.steps)
    EXPECT_NE(step.kind, ConversionStep::Kind::Shuffle);
}

TEST(Conversion, ExchangingOneLaneBitMovesHalfOfTheRegisters) {
  Layout from = parsed("[256] register=[(1),(2)] lane=[(4),(8),(16),(32),(64)] warp=[(128)]");
  Layout to = parsed("[256] register=[(4),(2)] lane=[(1),(8),(16),(32),(64)] warp=[(128)]");
  ConversionPlan plan = planConversion(from, to, 32);
  ASSERT_EQ(plan.kind, ConversionPlan::Kind::Shuffle);
  EXPECT_EQ(plan.describe(), "in the warp: 2 shuffles, 8 selects, cost 48");
}

TEST(Conversion, SmallElementsTravelTogether) {
  Layout from = parsed("[128] register=[(1),(2)] lane=[(4),(8),(16),(32),(64)] warp=[]");
  Layout to = parsed("[128] register=[(1),(2)] lane=[(8),(4),(16),(32),(64)] warp=[]");
  EXPECT_EQ(planConversion(from, to, 8).packed, 4u);
  EXPECT_EQ(planConversion(from, to, 16).packed, 2u);
  EXPECT_EQ(planConversion(from, to, 32).packed, 1u);
}

TEST(Conversion, TransposesHaveNoBankConflicts) {
  for (unsigned bits : {8u, 16u, 32u, 64u})
    for (unsigned warps : {1u, 4u, 8u}) {
      unsigned rows[] = {1, 0}, columns[] = {0, 1};
      Layout from = coalesced({128, 64}, rows, 128 / bits, warps),
             to = coalesced({128, 64}, columns, 128 / bits, warps);
      ConversionPlan plan = planShared(from, to, bits);
      auto least = [&](const SharedSide &side) { return std::max(1u, 32 * side.width * bits / 1024); };
      EXPECT_EQ(plan.shared.store.wavefronts, least(plan.shared.store)) << bits << " " << plan.describe();
      EXPECT_EQ(plan.shared.load.wavefronts, least(plan.shared.load)) << bits << " " << plan.describe();
      EXPECT_EQ(plan.scratchBytes, 128u * 64 * bits / 8);
    }
}

TEST(Conversion, SharedRegisterRunsGiveWideAccesses) {
  unsigned rows[] = {1, 0};
  Layout from = coalesced({128, 128}, rows, 4, 4), to = dotBlocked({128, 128}, 4);
  ConversionPlan plan = planShared(from, to, 32);
  EXPECT_EQ(plan.shared.store.width, 4u);
  EXPECT_EQ(plan.shared.load.width, 4u);
  EXPECT_EQ(plan.shared.store.wavefronts + plan.shared.load.wavefronts, 8u);
}

TEST(Conversion, TheBudgetSplitsIntoRounds) {
  unsigned rows[] = {1, 0}, columns[] = {0, 1};
  Layout from = coalesced({256, 256}, rows, 4, 4), to = coalesced({256, 256}, columns, 4, 4);
  ConversionPlan plan = planShared(from, to, 32, 64 * 1024);
  EXPECT_LE(plan.scratchBytes, 64u * 1024);
  EXPECT_EQ(plan.shared.rounds.size(), 4u);
  EXPECT_TRUE(converts(plan, from, to, 4, 32));
}

TEST(Conversion, OutermostPaddingCostsNoScratch) {
  unsigned rows[] = {1, 0};
  Layout from = coalesced({80, 64}, rows, 4, 4), to = reduction({80, 64}, 0, rows, 1, 4);
  ConversionPlan plan = planShared(from, to, 32);
  EXPECT_LE(plan.scratchBytes, 96u * 64 * 4) << from.text() << to.text();
  EXPECT_TRUE(converts(plan, from, to, 4, 32));
}

TEST(Conversion, ComputedWavefrontsAreThoseOfEveryAccess) {
  Random random(7);
  for (unsigned n = 0; n != 300; ++n) {
    unsigned warps = 1u << random.below(3), bits = 8u << random.below(4);
    std::vector<int64_t> extents = random.extents(11);
    Layout from = random.layout(extents, warps), to = random.layout(extents, warps);
    SharedMap map = random.oneIn(3) ? linearMap(to.totalBits()) : swizzled(from, to, bits);
    ASSERT_TRUE(map.isInjective());
    unsigned width = accessWidth(to, map, bits), expected = wavefronts(to, map, width, bits);
    unsigned together = std::min(32u, 1024 / (width * bits)), reg = random.below(to.size(Axis::Register)),
             warp = random.below(warps), total = 0;
    for (unsigned first = 0; first != 32; first += together) {
      std::map<uint64_t, std::map<uint64_t, int>> banks; // the bytes' words by bank
      for (unsigned lane = first; lane != first + together; ++lane)
        for (unsigned byte = 0; byte != width * bits / 8; ++byte) {
          uint64_t at = map.offset(to.apply(reg, lane, warp)) / width * width * bits / 8 + byte;
          banks[at / 4 % 32][at / 128] = 1;
        }
      size_t most = 0;
      for (auto &[bank, words] : banks)
        most = std::max(most, words.size());
      total += unsigned(most);
    }
    ASSERT_EQ(total, expected) << to.text();
  }
}

TEST(Conversion, APartOfAnAccessLiesInsideOrOutside) {
  Random random(11);
  unsigned cut = 0;
  for (unsigned n = 0; n != 300; ++n) {
    std::vector<int64_t> extents = random.extents(11);
    Layout from = random.layout(extents, 1), to = random.layout(extents, 1);
    SharedMap map = random.oneIn(3) ? linearMap(to.totalBits()) : swizzled(from, to, 32);
    unsigned asked = 1u << std::min(random.below(4), to.totalBits()), width = wholeWidth(to, map, asked);
    ASSERT_LE(width, asked);
    cut += width < asked;
    std::map<uint32_t, bool> inside; // of each part
    for (uint32_t flat = 0; flat != 1u << to.totalBits(); ++flat)
      ASSERT_EQ(inside.try_emplace(map.offset(flat) / width, to.contains(flat)).first->second,
                to.contains(flat))
          << to.text();
  }
  EXPECT_GT(cut, 10u);
}
