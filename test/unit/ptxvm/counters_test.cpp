// Bank conflicts and sectors of single accesses, against numbers worked out by hand.
#include "Snippet.h"
#include "ptxvm/checks/BarrierUse.h"
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

// 64 threads copy their 8 bytes, to a place of 16 bytes or of 128.
std::string copyAndRead(const char *stride, const char *betweenThem) {
  return std::string(R"(
    .shared .align 16 .b8 tile[8192];
    mov.u32 %r0, tile;
    mad.lo.u32 %r1, %t, )") +
         stride + R"(, %r0;
    xor.b32 %r2, %t, 32;
    mad.lo.u32 %r2, %r2, )" +
         stride + R"(, %r0;
    cp.async.ca.shared.global [%r1], [%in], 8;
    cp.async.wait_all;
    )" + betweenThem +
         R"(
    ld.shared.u64 %rd0, [%r2];
    st.global.u64 [%out], %rd0;)";
}

TEST(Counters, ACopyHasSectorsOfItsSourceAndWavefrontsOfItsDestination) {
  for (auto [stride, wavefronts] : {std::pair("16", 2 * 4u), std::pair("128", 2 * 32u)}) {
    Counters counters;
    SnippetRun run = runText(snippetText(copyAndRead(stride, "bar.sync 0;")), {}, 64, {}, 0, {&counters});
    ASSERT_TRUE(run.report.ok()) << run.error;
    InstructionCounts copy;
    for (const InstructionCounts &one : counters.counts())
      if (one.copyRequests)
        copy += one;
    EXPECT_EQ(copy.copyRequests, 2u);
    EXPECT_EQ(copy.copyLanes, 64u);
    EXPECT_EQ(copy.copyBytes, 512u);
    EXPECT_EQ(copy.requests, 2u);
    EXPECT_EQ(copy.space, Space::Global);
    EXPECT_EQ(copy.idealSectors, 16u);
    EXPECT_GE(copy.sectors, 16u); // more where the vector lies across sectors
    EXPECT_EQ(copy.wavefronts, wavefronts);
  }
}

TEST(BarrierUse, ABarrierBehindTheWaitHandsACopyOn) {
  auto ordered = [](const char *between) {
    BarrierUse barriers;
    SnippetRun run = runText(snippetText(copyAndRead("16", between)), {}, 64, {}, 0, {&barriers});
    EXPECT_TRUE(run.report.ok()) << run.error;
    const auto &all = barriers.ordered();
    return std::count(all.begin(), all.end(), true);
  };
  EXPECT_EQ(ordered("bar.sync 0;"), 1);
  EXPECT_EQ(ordered("bar.sync 0; bar.sync 0;"), 0); // each alone would do
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
