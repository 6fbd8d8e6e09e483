// Registers that keep one more program off a multiprocessor are found where a few fewer let it in.
#include "targets/nvidia/Occupancy.h"

#include <gtest/gtest.h>

using namespace tegula::nvidia;

namespace {

using Bounds = decltype(RegisterBounds::registers);

Bounds bound(unsigned warps, int registers, uint64_t sharedBytes, const char *arch = "sm_90a") {
  return registersForOneMore({warps, registers, sharedBytes}, *findArchitecture(arch)).registers;
}

} // namespace

TEST(Occupancy, OneMoreProgramFitsWithAFewRegistersFewer) {
  EXPECT_EQ(bound(4, 142, 56 * 1024), Bounds{128}); // three, four
  EXPECT_EQ(bound(8, 145, 96 * 1024), Bounds{128}); // one, two
  EXPECT_EQ(bound(4, 174, 32 * 1024), Bounds{168}); // two, three
  EXPECT_EQ(bound(8, 129, 0), Bounds{128});
  EXPECT_EQ(bound(4, 161, 56 * 1024), Bounds{128}); // three, four
  EXPECT_EQ(bound(4, 72, 9 * 1024), Bounds{64});    // seven, eight
  EXPECT_EQ(bound(2, 134, 16 * 1024), Bounds{128});
}

TEST(Occupancy, OnlyOneMoreProgramPaysForSpills) {
  Architecture hopper = *findArchitecture("sm_90a");
  EXPECT_EQ(registersForOneMore({4, 142, 56 * 1024}, hopper).mostSpilled, 8);
  EXPECT_EQ(registersLeft({4, 80, 65 * 1024}, hopper).mostSpilled, 0);
  EXPECT_EQ(registersForWaitingWarps({16, 72, 0}, hopper).mostSpilled, 0);
}

TEST(Occupancy, RegistersStayWhereNothingIsGained) {
  EXPECT_EQ(bound(8, 128, 0), Bounds{});                  // 80 of 128 would be left
  EXPECT_EQ(bound(8, 165, 0), Bounds{});                  // more than two ninths
  EXPECT_EQ(bound(8, 145, 114 * 1024), Bounds{});         // shared memory has no room
  EXPECT_EQ(bound(8, 145, 113 * 1024), Bounds{128});      // 1 KiB is the system's
  EXPECT_EQ(bound(8, 145, 64 * 1024, "sm_86"), Bounds{}); // of a smaller one
  EXPECT_EQ(bound(4, 112, 0), Bounds{});                  // more than an eighth, and four run already
  EXPECT_EQ(bound(4, 72, 28 * 1024), Bounds{});           // shared memory has no room for eight
  EXPECT_EQ(bound(4, 64, 0), Bounds{});                   // eight run already
  EXPECT_EQ(bound(32, 64, 0), Bounds{});
  EXPECT_EQ(bound(1, 255, 0), Bounds{});
  EXPECT_EQ(bound(4, 0, 0), Bounds{});
}

TEST(Occupancy, ChainsBetweenProductsHaveAllRegisters) {
  Architecture hopper = *findArchitecture("sm_90a");
  EXPECT_EQ(registersForChains({2, 96, 16 * 1024}, hopper).registers, Bounds{255});
  EXPECT_EQ(registersForChains({4, 96, 16 * 1024}, hopper).registers, Bounds{168});
  EXPECT_EQ(registersForChains({4, 168, 16 * 1024}, hopper).registers, Bounds{});
  EXPECT_EQ(registersForChains({8, 64, 16 * 1024}, hopper).registers, Bounds{});
  EXPECT_EQ(registersForChains({2, 255, 16 * 1024}, hopper).registers, Bounds{});
  EXPECT_EQ(registersForChains({2, -1, 16 * 1024}, hopper).registers, Bounds{}); // the assembler did not say
}

TEST(Occupancy, TheBoundOfChainsIsKnownAheadWhereSharedMemoryLeavesNoOther) {
  auto atOnce = [](unsigned warps, uint64_t sharedBytes) {
    return chainsAtOnce(warps, sharedBytes, *findArchitecture("sm_90a")).registers;
  };
  EXPECT_EQ(atOnce(2, 16 * 1024), Bounds{255});
  EXPECT_EQ(atOnce(4, 16 * 1024), Bounds{168}); // 13 programs
  EXPECT_EQ(atOnce(4, 75 * 1024), Bounds{168}); // of three programs, as registersLeft says
  EXPECT_EQ(atOnce(4, 56 * 1024), Bounds{});    // of four
  EXPECT_EQ(atOnce(4, 100 * 1024), Bounds{});   // of two
  EXPECT_EQ(atOnce(2, 28 * 1024), Bounds{});    // of seven
  EXPECT_EQ(atOnce(8, 0), Bounds{});
}

TEST(Occupancy, RegistersComeInGranules) {
  EXPECT_TRUE(takesAll(168, 168));
  EXPECT_TRUE(takesAll(161, 168));
  EXPECT_FALSE(takesAll(160, 168));
}

TEST(Occupancy, RegistersThatSharedMemoryLeavesAreUsed) {
  auto left = [](unsigned warps, int registers, uint64_t sharedBytes) {
    return registersLeft({warps, registers, sharedBytes}, *findArchitecture("sm_90a")).registers;
  };
  EXPECT_EQ(left(4, 80, 65 * 1024), Bounds{168}); // of six programs three run
  EXPECT_EQ(left(1, 96, 30 * 1024), Bounds{255});
  EXPECT_EQ(left(2, 96, 36 * 1024), Bounds{168});
  EXPECT_EQ(left(4, 81, 65 * 1024), Bounds{});    // as many as it can use
  EXPECT_EQ(left(4, 168, 65 * 1024), Bounds{});   // three of three
  EXPECT_EQ(left(4, 56, 48 * 1024), Bounds{128}); // of nine programs four run
  EXPECT_EQ(left(8, 56, 96 * 1024), Bounds{});    // of four two
  EXPECT_EQ(left(4, 80, 40 * 1024), Bounds{});    // 20 warps run
  EXPECT_EQ(left(4, 80, 0), Bounds{});
  EXPECT_EQ(left(1, 255, 100 * 1024), Bounds{});
  EXPECT_EQ(left(4, 0, 65 * 1024), Bounds{});
}

TEST(Occupancy, LoadsOfTilesHaveTheRegistersThatNoOtherProgramTakes) {
  auto loads = [](unsigned warps, int registers, uint64_t sharedBytes) {
    return registersForLoads({warps, registers, sharedBytes}, *findArchitecture("sm_90a")).registers;
  };
  EXPECT_EQ(loads(4, 192, 32 * 1024), Bounds{255}); // two programs run either way
  EXPECT_EQ(loads(4, 112, 64 * 1024), Bounds{168}); // shared memory has room for three
  EXPECT_EQ(loads(8, 200, 32 * 1024), Bounds{255});
  EXPECT_EQ(loads(4, 168, 32 * 1024), Bounds{}); // three of three
  EXPECT_EQ(loads(4, 255, 32 * 1024), Bounds{});
  EXPECT_EQ(loads(8, 96, 16 * 1024), Bounds{}); // 16 warps run
  EXPECT_EQ(loads(4, 96, 16 * 1024), Bounds{}); // five programs
  EXPECT_EQ(loads(4, 0, 16 * 1024), Bounds{});
}

TEST(Occupancy, MoreProgramsRunWhileManyWarpsMeet) {
  auto more = [](unsigned warps, int registers, uint64_t sharedBytes) {
    return registersForWaitingWarps({warps, registers, sharedBytes}, *findArchitecture("sm_90a")).registers;
  };
  EXPECT_EQ(more(16, 72, 0), (Bounds{40, 64})); // of one program three run, or two
  EXPECT_EQ(more(16, 48, 0), (Bounds{32, 40}));
  EXPECT_EQ(more(16, 37, 0), Bounds{32});
  EXPECT_EQ(more(8, 96, 0), (Bounds{64, 80}));
  EXPECT_EQ(more(32, 40, 0), Bounds{32});
  EXPECT_EQ(more(16, 48, 80 * 1024), Bounds{}); // shared memory has room for two
  EXPECT_EQ(more(16, 32, 0), Bounds{});
  EXPECT_EQ(more(8, 64, 0), Bounds{});
  EXPECT_EQ(more(16, 128, 0), Bounds{}); // half of them would go
  EXPECT_EQ(more(4, 168, 0), Bounds{});  // few warps
  EXPECT_EQ(more(16, 0, 0), Bounds{});
}

TEST(Occupancy, ASecondProgramFitsWhereOneFillsTheRegisters) {
  auto second = [](unsigned warps, int registers, uint64_t sharedBytes) {
    return registersForSecondProgram({warps, registers, sharedBytes}, *findArchitecture("sm_90a")).registers;
  };
  EXPECT_EQ(second(16, 118, 0), Bounds{64});
  EXPECT_EQ(second(16, 128, 0), Bounds{64});
  EXPECT_EQ(second(8, 255, 0), Bounds{128});
  EXPECT_EQ(second(16, 64, 0), Bounds{}); // two fit
  EXPECT_EQ(second(8, 128, 0), Bounds{});
  EXPECT_EQ(second(32, 64, 0), Bounds{}); // a thread would keep few
  EXPECT_EQ(second(16, 118, 120 * 1024), Bounds{});
  EXPECT_EQ(second(16, 0, 0), Bounds{});
}

TEST(Occupancy, LoadsThatTakeTurnsLeaveRoomForSomeWarps) {
  auto turns = [](unsigned warps, int registers, unsigned loaded, bool inLoops = true,
                  uint64_t sharedBytes = 0) {
    return registersForTurns({warps, registers, sharedBytes}, loaded, inLoops, *findArchitecture("sm_90a"))
        .registers;
  };
  EXPECT_EQ(turns(4, 56, 136), Bounds{64});
  EXPECT_EQ(turns(8, 40, 96), Bounds{64});
  EXPECT_EQ(turns(8, 40, 64), Bounds{});  // more than half of them are under way
  EXPECT_EQ(turns(8, 64, 136), Bounds{}); // 32 warps run
  EXPECT_EQ(turns(8, 40, 96, true, 55 * 1024), Bounds{});
  EXPECT_EQ(turns(4, 0, 136), Bounds{});
}

TEST(Occupancy, FewLoadsOfSmallProgramsTakeTurnsToo) {
  auto turns = [](unsigned warps, int registers, unsigned loaded, bool inLoops) {
    return registersForTurns({warps, registers, 0}, loaded, inLoops, *findArchitecture("sm_90a")).registers;
  };
  EXPECT_EQ(turns(4, 32, 8, true), Bounds{64});
  EXPECT_EQ(turns(4, 32, 8, false), Bounds{}); // a vector's sum
  EXPECT_EQ(turns(4, 32, 4, true), Bounds{});
  EXPECT_EQ(turns(1, 78, 32, true), Bounds{128});
  EXPECT_EQ(turns(1, 78, 32, false), Bounds{128});
  EXPECT_EQ(turns(4, 64, 32, true), Bounds{128});
  EXPECT_EQ(turns(4, 104, 32, true), Bounds{}); // 16 warps run
}

TEST(Occupancy, TheBoundOfLoadsThatTakeTurnsIsKnownAhead) {
  auto atOnce = [](unsigned warps, unsigned loaded, bool inLoops, uint64_t sharedBytes = 0) {
    std::optional<EarlyBound> early =
        turnsAtOnce(warps, sharedBytes, loaded, inLoops, *findArchitecture("sm_90a"));
    return early ? std::pair(early->registers, early->taken) : std::pair(0, 0);
  };
  EXPECT_EQ(atOnce(1, 8, false), std::pair(128, 120));
  EXPECT_EQ(atOnce(2, 8, true), std::pair(128, 64));
  EXPECT_EQ(atOnce(4, 8, true), std::pair(128, 64));
  EXPECT_EQ(atOnce(4, 8, false), std::pair(0, 0));
  EXPECT_EQ(atOnce(4, 7, true), std::pair(0, 0));
  EXPECT_EQ(atOnce(8, 64, true), std::pair(0, 0));
  EXPECT_EQ(atOnce(4, 8, true, 28 * 1024), std::pair(0, 0)); // 28 warps run
}

// Of 45 programs of one warp with fewer registers none gained more than four.
TEST(Occupancy, ProgramsOfFewRegistersHaveNoLoadsThatTakeTurns) {
  auto turns = [](unsigned warps, int registers) {
    return registersForTurns({warps, registers, 0}, 16, true, *findArchitecture("sm_90a")).registers;
  };
  EXPECT_EQ(turns(1, 55), Bounds{});
  EXPECT_EQ(turns(1, 56), Bounds{128});
  EXPECT_EQ(turns(2, 24), Bounds{});
  EXPECT_EQ(turns(4, 24), Bounds{});
  EXPECT_EQ(turns(4, 25), Bounds{64});
}

TEST(Occupancy, TheBoundStandsAtTheKernel) {
  EXPECT_EQ(mostRegisters(1), 255);
  EXPECT_EQ(mostRegisters(8), 255);
  EXPECT_EQ(mostRegisters(16), 128);
  EXPECT_EQ(mostRegisters(32), 64);
  EXPECT_EQ(withRegisterBound(".entry k()\n.reqntid 128, 1, 1\n{\n", 128),
            ".entry k()\n.maxnreg 128\n.reqntid 128, 1, 1\n{\n");
  EXPECT_EQ(withRegisterBound("", 128), "");
}
