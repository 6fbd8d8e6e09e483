// Happens-before: what publishing and acquiring orders, and what cells remember.
#include "ptxvm/checks/Shadow.h"

#include <gtest/gtest.h>

using namespace tegula::ptxvm;

namespace {

struct Warp {
  Warp(uint32_t block, uint32_t warp) : block(block), warp(uint8_t(warp)), clock(block, warp, 4) {}
  Access access(bool writes, uint8_t lane = 0, bool strong = false) const {
    Access a;
    a.epoch = {block, clock.now(), 1, warp, lane, strong};
    a.reads = !writes;
    a.writes = writes;
    return a;
  }
  bool races(Cell &cell, const Access &a) const { return touch(cell, a, clock, true).has_value(); }
  uint32_t block;
  uint8_t warp;
  WarpClock clock;
};

TEST(Clocks, AReadAfterAnotherWarpsWriteRacesUntilItIsOrdered) {
  Warp a(0, 0), b(0, 1);
  Cell cell;
  EXPECT_FALSE(a.races(cell, a.access(true)));
  Cell copy = cell;
  EXPECT_TRUE(b.races(copy, b.access(false)));
  b.clock.acquire(a.clock.publish());
  EXPECT_FALSE(b.races(cell, b.access(false)));
}

TEST(Clocks, AWriteAfterAReadRaces) {
  Warp a(0, 0), b(0, 1), c(0, 2);
  Cell cell;
  EXPECT_FALSE(a.races(cell, a.access(false)));
  EXPECT_FALSE(b.races(cell, b.access(false)));
  EXPECT_FALSE(c.races(cell, c.access(false)));
  EXPECT_TRUE(c.races(cell, c.access(true)));
}

TEST(Clocks, WhatWasPublishedBeforeAWriteDoesNotOrderIt) {
  Warp a(0, 0), b(0, 1);
  Published before = a.clock.publish();
  Cell cell;
  a.races(cell, a.access(true));
  b.clock.acquire(before);
  EXPECT_TRUE(b.races(cell, b.access(false)));
}

TEST(Clocks, OrderIsTransitiveOverBlocks) {
  Warp a(0, 0), b(1, 2), c(2, 1);
  Cell cell;
  a.races(cell, a.access(true));
  b.clock.acquire(a.clock.publish());
  c.clock.acquire(b.clock.publish());
  EXPECT_FALSE(c.races(cell, c.access(true)));
  EXPECT_TRUE(a.races(cell, a.access(false)));
}

TEST(Clocks, LanesOfOneWarpRaceWithinAnEpoch) {
  Warp a(0, 0);
  Cell cell;
  a.races(cell, a.access(true, 3));
  EXPECT_FALSE(a.races(cell, a.access(false, 3)));
  EXPECT_TRUE(a.races(cell, a.access(false, 4)));
  a.clock.tick();
  EXPECT_FALSE(a.races(cell, a.access(false, 5)));
}

TEST(Clocks, StrongAccessesDoNotRaceWithEachOther) {
  Warp a(0, 0), b(1, 0);
  Cell cell;
  a.races(cell, a.access(true, 0, true));
  EXPECT_FALSE(b.races(cell, b.access(true, 0, true)));
  EXPECT_TRUE(a.races(cell, a.access(false, 0, false)));
}

TEST(Clocks, EqualStoresAreNoRaceNorAreReadsOfOnesOwn) {
  Warp a(0, 0), b(0, 1), c(0, 2);
  Cell cell;
  a.races(cell, a.access(true));
  Access again = b.access(true);
  again.storesSame = true;
  EXPECT_FALSE(b.races(cell, again));
  EXPECT_FALSE(a.races(cell, a.access(false)));
  EXPECT_FALSE(b.races(cell, b.access(false)));
  EXPECT_TRUE(c.races(cell, c.access(false)));
}

TEST(Clocks, BytesOfACellAreApart) {
  Warp a(0, 0), b(0, 1);
  Cells cells(1);
  auto touchBytes = [&](const Warp &warp, unsigned bytes, bool writes) {
    bool raced = false;
    cells.visit(0, bytes, [&](Cell &cell) { raced |= warp.races(cell, warp.access(writes)); });
    return raced;
  };
  EXPECT_FALSE(touchBytes(a, 0x3, true));
  EXPECT_FALSE(touchBytes(b, 0xc, true));
  EXPECT_TRUE(touchBytes(b, 0xf, false));
}

} // namespace
