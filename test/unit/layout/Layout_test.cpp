// The algebra of layouts against its definitions on coordinates.
#include "Random.h"
#include "layout/Queries.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

using namespace tegula::layout;

namespace {
struct Place {
  unsigned reg, lane, warp;
};

std::vector<Place> somePlaces(Random &random, const Layout &layout) {
  std::vector<Place> places;
  for (unsigned n = 0; n != 24; ++n)
    places.push_back({random.below(layout.size(Axis::Register)), random.below(layout.size(Axis::Lane)),
                      random.below(layout.size(Axis::Warp))});
  return places;
}

std::vector<int64_t> at(const Layout &layout, Place place) {
  return layout.coordinates(layout.apply(place.reg, place.lane, place.warp));
}

unsigned spread(unsigned reg, const std::vector<unsigned> &kept) {
  unsigned result = 0;
  for (size_t i = 0; i != kept.size(); ++i)
    result |= (reg >> i & 1) << kept[i];
  return result;
}

class Algebra : public testing::Test {
protected:
  Random random{3};
  template <class Check> void onLayouts(unsigned count, Check check) {
    for (unsigned n = 0; n != count; ++n) {
      Layout layout = random.layout(random.extents(11), 1u << random.below(4));
      check(layout);
      if (HasFailure())
        FAIL() << layout.text();
    }
  }
};
TEST(Fastest, IsThatOfAThreadsNeighboursElseOfAWarps) {
  const std::vector columns{0u, 1u}, rows{1u, 0u};
  EXPECT_EQ(fastestOf(coalesced({32, 128}, columns, 4, 8)), 0u);
  EXPECT_EQ(fastestOf(coalesced({32, 128}, rows, 4, 8)), 1u);
  // Each thread has single elements, and the next of its own lies along the other dimension.
  EXPECT_EQ(fastestOf(coalesced({32, 128}, columns, 1, 8)), 0u);
  EXPECT_EQ(fastestOf(coalesced({128, 32}, rows, 1, 8)), 1u);
}

} // namespace

TEST_F(Algebra, FlatCoordinatesRoundTrip) {
  onLayouts(100, [&](const Layout &layout) {
    for (Place place : somePlaces(random, layout)) {
      uint32_t flat = layout.apply(place.reg, place.lane, place.warp);
      EXPECT_EQ(layout.flatten(layout.coordinates(flat)), flat);
    }
  });
}

TEST_F(Algebra, EachElementIsHeldOnceByThreadsWithoutFreeBits) {
  onLayouts(150, [&](const Layout &layout) {
    std::map<uint32_t, unsigned> holders;
    uint32_t free[] = {layout.freeBits(Axis::Register), layout.freeBits(Axis::Lane),
                       layout.freeBits(Axis::Warp)};
    for (unsigned warp = 0; warp != layout.size(Axis::Warp); ++warp)
      for (unsigned lane = 0; lane != 32; ++lane)
        for (unsigned reg = 0; reg != layout.size(Axis::Register); ++reg)
          if (!(reg & free[0]) && !(lane & free[1]) && !(warp & free[2]))
            ++holders[layout.apply(reg, lane, warp)];
    EXPECT_EQ(holders.size(), size_t(1) << layout.totalBits());
    for (auto [flat, count] : holders)
      EXPECT_EQ(count, 1u);
    EXPECT_TRUE(layout.isSurjective());
  });
}

TEST_F(Algebra, DeadRegistersAreThoseOutsideEverywhere) {
  onLayouts(200, [&](const Layout &layout) {
    std::vector<unsigned> live;
    for (unsigned reg = 0; reg != layout.size(Axis::Register); ++reg) {
      bool inside = false;
      for (unsigned warp = 0; warp != layout.size(Axis::Warp) && !inside; ++warp)
        for (unsigned lane = 0; lane != 32 && !inside; ++lane)
          inside = layout.contains(layout.apply(reg, lane, warp));
      if (inside)
        live.push_back(reg);
    }
    EXPECT_EQ(layout.liveRegisters(), live);
  });
}

TEST_F(Algebra, ContiguousIsTheLongestAlignedRunOfEveryThread) {
  onLayouts(300, [&](const Layout &layout) {
    for (unsigned dim = 0; dim != layout.rank(); ++dim) {
      auto runs = [&](unsigned k) {
        for (unsigned warp = 0; warp != layout.size(Axis::Warp); ++warp)
          for (unsigned lane = 0; lane != 32; ++lane)
            for (unsigned reg = 0; reg != layout.size(Axis::Register); ++reg) {
              std::vector<int64_t> first = at(layout, {reg / k * k, lane, warp}),
                                   own = at(layout, {reg, lane, warp});
              first[dim] += reg % k;
              if ((first[dim] - reg % k) % k != 0 || own != first)
                return false;
            }
        return true;
      };
      unsigned longest = 1;
      while (2 * longest <= layout.size(Axis::Register) && 2 * longest <= layout.hull(dim) &&
             runs(2 * longest))
        longest *= 2;
      EXPECT_EQ(layout.contiguous(dim), longest);
    }
  });
}

TEST_F(Algebra, SlicesAndNarrowedForgetOneDimension) {
  onLayouts(200, [&](const Layout &layout) {
    unsigned dim = random.below(layout.rank());
    Layout sliced = layout.sliced(dim), narrowed = layout.narrowed(dim);
    std::vector<unsigned> kept = layout.keptRegisterBits(dim);
    for (Place place : somePlaces(random, sliced)) {
      std::vector<int64_t> whole = at(layout, {spread(place.reg, kept), place.lane, place.warp});
      std::vector<int64_t> narrow = whole;
      narrow[dim] = 0;
      whole.erase(whole.begin() + dim);
      EXPECT_EQ(at(sliced, place), whole);
      EXPECT_EQ(at(narrowed, place), narrow);
    }
    EXPECT_EQ(sliced.expanded(dim), narrowed);
    EXPECT_EQ(sliced.nonzeroRegisterBits().size(), kept.size());
    EXPECT_TRUE(sliced.isSurjective());
  });
}

TEST_F(Algebra, AnUnslicedLayoutHasItsSliceAndAllOfTheNewDimension) {
  onLayouts(200, [&](const Layout &layout) {
    unsigned dim = random.below(layout.rank());
    Layout slice = layout.sliced(dim), whole = slice.unsliced(dim, layout.extents()[dim]);
    EXPECT_EQ(whole.extents(), layout.extents());
    EXPECT_EQ(whole.sliced(dim), slice);
    EXPECT_TRUE(whole.isSurjective());
  });
}

TEST_F(Algebra, PiecesAreThoseWhichEachThreadHasInRegistersOfItsOwn) {
  unsigned found = 0;
  onLayouts(300, [&](const Layout &layout) {
    unsigned dim = random.below(layout.rank()), bits = 1 + random.below(2);
    std::optional<Layout> piece = layout.piece(dim, bits);
    if (!piece)
      return;
    ++found;
    int64_t extent = layout.extents()[dim] >> bits;
    EXPECT_EQ(piece->extents()[dim], extent);
    for (unsigned lane : {0u, 1u, 19u, 31u})
      for (unsigned warp = 0; warp != layout.size(Axis::Warp); ++warp)
        for (int64_t number = 0; number != int64_t(1) << bits; ++number) {
          std::multiset<std::vector<int64_t>> whole, own;
          for (unsigned reg = 0; reg != layout.size(Axis::Register); ++reg)
            if (std::vector<int64_t> place = at(layout, {reg, lane, warp}); place[dim] / extent == number)
              whole.insert(place);
          for (unsigned reg = 0; reg != piece->size(Axis::Register); ++reg) {
            std::vector<int64_t> place = at(*piece, {reg, lane, warp});
            place[dim] += number * extent;
            own.insert(place);
          }
          EXPECT_EQ(own, whole);
        }
  });
  EXPECT_GT(found, 10u);
}

TEST_F(Algebra, TransposesPermuteCoordinates) {
  onLayouts(200, [&](const Layout &layout) {
    std::vector<int32_t> order;
    for (unsigned dim : random.order(layout.rank()))
      order.push_back(int32_t(dim));
    Layout transposed = layout.transposed(order);
    for (Place place : somePlaces(random, layout)) {
      std::vector<int64_t> operand = at(layout, place), result = at(transposed, place);
      for (unsigned d = 0; d != order.size(); ++d)
        EXPECT_EQ(result[d], operand[size_t(order[d])]);
    }
  });
}

TEST_F(Algebra, ReshapesKeepRowMajorOrder) {
  unsigned linear = 0;
  for (unsigned n = 0; n != 600; ++n) {
    std::vector<int64_t> extents = random.extents(12), others;
    // The same factors, cut elsewhere.
    std::vector<int64_t> factors;
    for (int64_t extent : extents)
      for (int64_t p : {3, 5, 2})
        for (; extent % p == 0; extent /= p)
          factors.push_back(p);
    if (random.oneIn(3))
      std::shuffle(factors.begin(), factors.end(), std::mt19937(n));
    for (int64_t factor : factors)
      if (others.empty() || random.oneIn(3))
        others.push_back(factor);
      else
        others.back() *= factor;
    Layout layout = random.layout(extents, 4);
    std::optional<Layout> reshaped = layout.reshaped(others);
    if (!reshaped)
      continue;
    ++linear;
    for (Place place : somePlaces(random, layout)) {
      if (!layout.contains(layout.apply(place.reg, place.lane, place.warp)))
        continue;
      auto index = [&](const Layout &of) {
        int64_t result = 0;
        std::vector<int64_t> coordinates = at(of, place);
        for (unsigned d = 0; d != of.rank(); ++d)
          result = result * of.extents()[d] + coordinates[d];
        return result;
      };
      ASSERT_EQ(index(layout), index(*reshaped)) << layout.text() << reshaped->text();
    }
  }
  EXPECT_GT(linear, 200u);
}

TEST(Reshape, KnowsWhatIsNotLinear) {
  Layout layout = coalesced({4, 48}, 1, 1);
  EXPECT_FALSE(layout.reshaped({192}));      // rows of 48 lie 64 apart
  EXPECT_TRUE(layout.reshaped({2, 2, 48}));  // rows stay rows
  EXPECT_TRUE(layout.reshaped({4, 3, 16}));  // 48 = 3 * 16 is split at a power of two
  EXPECT_FALSE(layout.reshaped({4, 16, 3})); // but not so
  EXPECT_FALSE(layout.reshaped({4, 47}));
  EXPECT_TRUE(coalesced({48, 4}, 1, 1).reshaped({192}));
  EXPECT_TRUE(coalesced({1}, 1, 1).reshaped({}));
}

TEST_F(Algebra, JoinedIsUndoneBySplit) {
  onLayouts(200, [&](const Layout &layout) {
    Layout joined = layout.joined();
    for (Place place : somePlaces(random, joined)) {
      std::vector<int64_t> pair = at(layout, {place.reg >> 1, place.lane, place.warp});
      pair.push_back(place.reg & 1);
      EXPECT_EQ(at(joined, place), pair);
    }
    auto split = joined.split();
    EXPECT_TRUE(split && split->first == layout && split->second == 0);
  });
}

TEST(Split, FindsTheRegisterBitOrRefuses) {
  auto parse = [](std::string_view text) { return *Layout::parse(text); };
  auto found = parse("[4x2] register=[(1,0),(0,1)] lane=[(2,0)]").split();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->second, 1u);
  EXPECT_EQ(found->first, parse("[4] register=[(1)] lane=[(2)]"));
  EXPECT_FALSE(parse("[4x2] register=[(1,0)] lane=[(0,1),(2,0)]").split());
  EXPECT_FALSE(parse("[4x2] register=[(0,1),(1,0)] lane=[(2,1)]").split());
  EXPECT_FALSE(parse("[4x4] register=[(0,1),(0,2)] lane=[(1,0)]").split());
}

TEST_F(Algebra, RepeatedRegistersCanBeDropped) {
  onLayouts(200, [&](const Layout &layout) {
    Layout lean = layout.withoutRepeatedRegisters();
    EXPECT_EQ(lean.freeBits(Axis::Register), 0u);
    EXPECT_TRUE(lean.isSurjective());
  });
}

TEST_F(Algebra, TextRoundTrips) {
  onLayouts(400, [&](const Layout &layout) {
    std::string error;
    std::optional<Layout> parsed = Layout::parse(layout.text(), &error);
    EXPECT_TRUE(parsed && *parsed == layout) << error;
  });
}

TEST(Text, ReadsWell) {
  EXPECT_EQ(coalesced({4, 64}, 2, 1).text(),
            "coalesced<order=1,0 vector=2 warps=1> [4x64] register=[(0,1),(1,0),(2,0)] "
            "lane=[(0,2),(0,4),(0,8),(0,16),(0,32)] warp=[]");
  EXPECT_EQ(Layout({}, {}).text(), "[] register=[] lane=[] warp=[]");
  EXPECT_EQ(*Layout::parse("[]"), Layout({}, {}));
}

TEST(Text, BadTextIsRefusedWithAReason) {
  for (const char *text :
       {"", "[", "[4", "[4x]", "[0]", "[-1]", "[4] lane", "[4] lane=", "[4] lane=[(4)]", "[4] lane=[(1,1)]",
        "[4] lane=[(1)] lane=[]", "[4] what=[]", "[99999999999]", "[65536x65536]", "[4] lane=[(1)", "<[4]"}) {
    std::string error;
    EXPECT_FALSE(Layout::parse(text, &error)) << text;
    EXPECT_NE(error, "") << text;
  }
}

TEST(Builders, ReachEverythingWithoutRepetition) {
  Random random(5);
  for (unsigned n = 0; n != 400; ++n) {
    std::vector<int64_t> extents = random.extents(14);
    unsigned rank = unsigned(extents.size()), warps = 1u << random.below(4);
    std::vector<unsigned> order = random.order(rank);
    std::vector<Layout> built = {
        coalesced(extents, order, 1u << random.below(5), warps),
        reduction(extents, random.below(rank), order, 4, warps),
        reductionInThreads(extents, random.below(rank), 1u << random.below(4), 1u << random.below(6), warps),
        replicated(extents, warps)};
    if (rank >= 2)
      built.push_back(dotBlocked(extents, warps));
    for (const Layout &layout : built) {
      ASSERT_TRUE(layout.isSurjective()) << layout.text();
      ASSERT_EQ(layout.freeBits(Axis::Register), 0u) << layout.text();
      ASSERT_EQ(layout.bases(Axis::Lane).size(), laneBits);
      ASSERT_EQ(layout.size(Axis::Warp), warps);
      for (unsigned dim = 0; dim != rank; ++dim)
        ASSERT_TRUE(isOrdered(layout, dim));
    }
  }
}

TEST(Builders, CoalescedAccessesAreContiguousInAWarp) {
  Layout layout = coalesced({4096}, 4, 4);
  for (unsigned reg = 0; reg != layout.size(Axis::Register); ++reg)
    for (unsigned lane = 0; lane != 32; ++lane)
      ASSERT_EQ(layout.apply(reg, lane, 2), reg / 4 * 512 + 2 * 128 + lane * 4 + reg % 4);
}

TEST(Builders, PaddingGoesToRegistersThatVanish) {
  Layout layout = coalesced({64, 80}, 8, 4);
  EXPECT_EQ(layout.liveRegisters().size(), layout.size(Axis::Register) / 8 * 5);
  for (unsigned reg : layout.liveRegisters())
    for (unsigned warp = 0; warp != 4; ++warp)
      for (unsigned lane = 0; lane != 32; ++lane)
        ASSERT_TRUE(layout.contains(layout.apply(reg, lane, warp))) << "no thread idles";
}

TEST(Builders, ReductionKeepsTheAxisInOneWarp) {
  unsigned rows[] = {1, 0};
  EXPECT_TRUE(axisInWarp(reduction({16, 1024}, 1, rows, 4, 4), 1));
  EXPECT_TRUE(axisInWarp(reduction({64, 64}, 0, rows, 4, 1), 0));
  EXPECT_FALSE(axisInWarp(coalesced({16, 1024}, 4, 4), 1));
}

TEST(Builders, ReductionInThreadsLeavesFewLanesAlongTheAxis) {
  Layout columns = reductionInThreads({64, 64}, 0, 4, 2, 4), whole = reductionInThreads({16, 64}, 0, 4, 1, 1);
  EXPECT_TRUE(axisInWarp(columns, 0));
  EXPECT_EQ(lanesAlong(columns, 0).size(), 1u);
  EXPECT_EQ(columns.sliced(1).contiguous(0), 4u);
  EXPECT_TRUE(axisInThread(whole, 0));
  Layout narrow = reductionInThreads({128, 2}, 0, 1, 1, 4); // threads that no other dimension takes
  EXPECT_EQ(lanesAlong(narrow, 0).size(), laneBits);
  EXPECT_EQ(warpsAlong(narrow, 0).size(), 1u);
}

TEST(Builders, ScannedRowsLieInThreadsThenInWarps) {
  Layout tile = coalesced({128, 128}, 4, 4), rows = scanned(tile, 0);
  EXPECT_EQ(rows.bases(Axis::Warp), (std::vector<uint32_t>{32 * 128, 64 * 128}));
  EXPECT_EQ(rows.bases(Axis::Lane), tile.bases(Axis::Lane));
  EXPECT_EQ(rows.contiguous(1), 4u);
  EXPECT_TRUE(rows.isSurjective() && isOrdered(rows, 0));
  EXPECT_EQ(scanned(rows, 0), rows);
  EXPECT_EQ(scanned(tile, 1), tile) << "its registers are the lowest already";
}

TEST(Builders, DotOperandsHoldWhatTheResultNeeds) {
  for (unsigned warps : {1u, 4u, 8u}) {
    Layout result = dotBlocked({64, 32}, warps), a = dotOperand(result, 0, 16), b = dotOperand(result, 1, 16);
    EXPECT_EQ(a.extents(), (std::vector<int64_t>{64, 16}));
    EXPECT_EQ(b.extents(), (std::vector<int64_t>{16, 32}));
    EXPECT_TRUE(axisInThread(a, 1) && axisInThread(b, 0));
    for (unsigned warp = 0; warp != warps; ++warp)
      for (unsigned lane = 0; lane != 32; ++lane) {
        std::set<int64_t> wanted, held;
        for (unsigned reg = 0; reg != result.size(Axis::Register); ++reg)
          wanted.insert(at(result, {reg, lane, warp})[0]);
        for (unsigned reg = 0; reg != a.size(Axis::Register); ++reg)
          held.insert(at(a, {reg, lane, warp})[0]);
        ASSERT_EQ(wanted, held);
      }
  }
}

TEST_F(Algebra, LinesOfRegistersAscendAlongTheAxis) {
  onLayouts(200, [&](const Layout &layout) {
    for (unsigned dim = 0; dim != layout.rank(); ++dim) {
      if (!isOrdered(layout, dim))
        continue;
      Layout sliced = layout.sliced(dim);
      std::vector<std::vector<unsigned>> lines = registerLines(layout, dim);
      ASSERT_EQ(lines.size(), sliced.size(Axis::Register));
      for (unsigned line = 0; line != lines.size(); ++line)
        for (size_t i = 0; i != lines[line].size(); ++i) {
          std::vector<int64_t> own = at(layout, {lines[line][i], 0, 0});
          if (i != 0)
            EXPECT_LT(at(layout, {lines[line][i - 1], 0, 0})[dim], own[dim]);
          own.erase(own.begin() + dim);
          EXPECT_EQ(own, at(sliced, {line, 0, 0}));
        }
    }
  });
}

TEST(Queries, AxisBitsAscendBySignificance) {
  Layout layout = *Layout::parse("[8x8] register=[(0,4),(0,1)] lane=[(4,0),(0,2),(1,0)] warp=[(2,0)]");
  EXPECT_EQ(registersAlong(layout, 1), (std::vector<unsigned>{2, 1}));
  EXPECT_EQ(lanesAlong(layout, 0), (std::vector<unsigned>{4, 1}));
  EXPECT_EQ(warpsAlong(layout, 0), (std::vector<unsigned>{1}));
  EXPECT_TRUE(axisInWarp(layout, 1));
  EXPECT_FALSE(axisInWarp(layout, 0));
}

TEST(Queries, RegistersInsideOfGroupsOfNeighbours) {
  // A thread holds four rows of eight neighbours.
  unsigned rows[] = {1, 0};
  Layout layout = coalesced({16, 256}, rows, 8, 1);
  for (int64_t size : {1, 2, 4, 8, 256})
    EXPECT_EQ(registersInside(layout, std::vector<int64_t>{1, size}), std::min<int64_t>(size, 8) - 1);
  EXPECT_EQ(registersInside(layout, std::vector<int64_t>{16, 256}), layout.size(Axis::Register) - 1);
}

TEST(Queries, RegistersBehindAreMovedBackByNoOtherBit) {
  // The first bit moves nothing; a lane takes the second one's move back.
  Layout layout = *Layout::parse("[8x8] register=[(0,0),(0,4),(0,1)] lane=[(4,0),(0,6),(1,0)] warp=[(2,0)]");
  EXPECT_EQ(registersBehind(layout), 4u);
}
