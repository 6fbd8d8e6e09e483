// Bank conflicts and sectors of single accesses, against numbers worked out by hand.
#include "ptxvm/checks/Counters.h"
#include "ptxvm/checks/Overlap.h"

#include <gtest/gtest.h>

using namespace tegula::ptxvm;

namespace {

struct Request {
  uint64_t addresses[32];
  MemoryEvent event;
  template <class F> Request(uint32_t width, F address) {
    for (unsigned lane = 0; lane < 32; ++lane)
      addresses[lane] = address(lane);
    event.width = width;
    event.mask = ~0u;
    event.addresses = addresses;
  }
};

unsigned wavefronts(uint32_t width, uint64_t stride) {
  return wavefrontsOf(Request(width, [&](unsigned lane) { return lane * stride; }).event).needed;
}

TEST(Counters, ConsecutiveWordsAreOneWavefront) { EXPECT_EQ(wavefronts(4, 4), 1u); }
TEST(Counters, OneWordForAllIsOneWavefront) { EXPECT_EQ(wavefronts(4, 0), 1u); }
TEST(Counters, AStrideOfTwoWordsIsTwoWavefronts) { EXPECT_EQ(wavefronts(4, 8), 2u); }
TEST(Counters, AColumnOf32WordsIs32Wavefronts) { EXPECT_EQ(wavefronts(4, 128), 32u); }
TEST(Counters, APaddedColumnIsOneWavefront) { EXPECT_EQ(wavefronts(4, 132), 1u); }
TEST(Counters, VectorsOf16BytesAreFourPhases) { EXPECT_EQ(wavefronts(16, 16), 4u); }
TEST(Counters, AColumnOfVectorsConflictsInEachPhase) { EXPECT_EQ(wavefronts(16, 128), 32u); }
TEST(Counters, HalvesOfAWordShareABank) { EXPECT_EQ(wavefronts(2, 2), 1u); }

TEST(Counters, SectorsAreTheTouchedOnes) {
  SectorCount dense = sectorsOf(Request(4, [](unsigned lane) { return lane * 4; }).event);
  EXPECT_EQ(dense.touched, 4u);
  EXPECT_EQ(dense.ideal, 4u);
  SectorCount shifted = sectorsOf(Request(4, [](unsigned lane) { return 16 + lane * 4; }).event);
  EXPECT_EQ(shifted.touched, 5u);
  EXPECT_EQ(shifted.ideal, 4u);
  SectorCount strided = sectorsOf(Request(4, [](unsigned lane) { return lane * 64; }).event);
  EXPECT_EQ(strided.touched, 32u);
  SectorCount one = sectorsOf(Request(4, [](unsigned) { return 64; }).event);
  EXPECT_EQ(one.touched, 1u);
  EXPECT_EQ(one.ideal, 1u);
}

TEST(Overlap, EqualAddressesAreOneLane) {
  Request request(4, [](unsigned lane) { return lane / 8 * 4; });
  LaneSet lanes = distinctLanes(request.event);
  EXPECT_EQ(lanes.mask, 0x01010101u);
  EXPECT_EQ(lanes.repeated, 0x01010101u);
  EXPECT_EQ(lanes.differingLane, -1);
}

TEST(Overlap, StoresOfDifferentValuesToOneAddressAreSeen) {
  Request request(4, [](unsigned lane) { return lane < 2 ? 0 : lane * 4; });
  std::byte data[128] = {};
  request.event.kind = AccessKind::Store;
  request.event.data = data;
  EXPECT_EQ(distinctLanes(request.event).differingLane, -1);
  data[4] = std::byte(1);
  EXPECT_EQ(distinctLanes(request.event).differingLane, 1);
}

} // namespace
