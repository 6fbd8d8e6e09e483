// The bounds for registers that the assembler is asked for, and the answer that holds: an assembler that says
// what a test wants answers.
#include "KernelLines.h"
#include "targets/nvidia/AssembleForOccupancy.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

using namespace tegula;
using namespace tegula::nvidia;

namespace {

std::string kernel(const std::string &body) { return ".entry k()\n.reqntid 128, 1, 1\n{\n" + body + "}\n"; }
std::string loop(const std::string &body) { return label(1) + body + jump(1); }
std::string repeat(const std::string &text, int count) {
  std::string result;
  for (int i = 0; i != count; ++i)
    result += text;
  return result;
}

// Holds so many words at a time.
std::string holding(int words) {
  std::string first, last;
  for (int i = 10; i != words + 10; ++i) {
    first += line("mov.b32 \t%r" + std::to_string(i) + ", 0");
    last += line("st.global.b32 \t[%rd1], %r" + std::to_string(i));
  }
  return line("mov.b64 \t%rd1, 0") + first + last;
}

const std::string chains = kernel(loop(product + sum + sum));

struct Usage {
  int registers = 32, spillBytes = 0;
  const char *log = "";
};

using Runs = std::vector<int>; // their bounds

// The bounds that an assembler was asked for which answers so, by bound.
struct Asked {
  Asked(std::string text, LaunchShape launch, const std::map<int, Usage> &answers) : ptx(std::move(text)) {
    auto assemble = [&](const std::string &, int bound) -> Result<Assembled> {
      bounds.push_back(bound);
      auto found = answers.find(bound);
      if (found == answers.end())
        return Status::error(StatusCode::Toolchain, "");
      return Assembled{.log = found->second.log,
                       .registers = found->second.registers,
                       .spillBytes = found->second.spillBytes,
                       .stackBytes = found->second.spillBytes,
                       .milliseconds = 1};
    };
    Result<Assembled> result = assembleForOccupancy(ptx, launch, *findArchitecture("sm_90a"), assemble);
    registers = result ? result->registers : -1;
    milliseconds = result ? result->milliseconds : 0;
  }

  std::string ptx;
  Runs bounds;
  int registers;
  double milliseconds;
};

const char *const serialized = "Potential Performance Loss: wgmma.mma_async instructions are serialized";

} // namespace

TEST(AssembleForOccupancy, ChainsBetweenProductsAreBoundAtOnce) {
  Asked few(chains, {2, 16 * 1024}, {{255, {159}}});
  EXPECT_EQ(few.bounds, Runs{255});
  EXPECT_EQ(few.registers, 159);
  EXPECT_NE(few.ptx.find(".maxnreg 255"), std::string::npos);
  EXPECT_EQ(Asked(chains, {4, 16 * 1024}, {{168, {128, 8}}}).bounds, Runs{168});
}

TEST(AssembleForOccupancy, ChainsThatSpillOrWaitUnderTheirBoundAreAssembledWithoutOne) {
  Asked spilled(chains, {4, 16 * 1024}, {{168, {168, 60}}, {0, {240}}});
  EXPECT_EQ(spilled.bounds, (Runs{168, 0}));
  EXPECT_EQ(spilled.registers, 240);
  EXPECT_EQ(spilled.milliseconds, 2);
  EXPECT_EQ(spilled.ptx, chains);
  EXPECT_EQ(Asked(chains, {4, 16 * 1024}, {{168, {120, 0, serialized}}, {0, {80}}}).registers, 80);
  EXPECT_EQ(Asked(chains, {4, 16 * 1024}, {{0, {80}}}).registers, 80); // refused with a bound
}

TEST(AssembleForOccupancy, ChainsThatTakeAllOfTheirBoundMayWantMore) {
  Asked asked(chains, {4, 16 * 1024}, {{168, {168}}, {0, {220}}});
  EXPECT_EQ(asked.bounds, (Runs{168, 0}));
  EXPECT_EQ(asked.registers, 220);
  EXPECT_EQ(Asked(chains, {4, 16 * 1024}, {{168, {168}}, {0, {128}}}).bounds, (Runs{168, 0}));
  EXPECT_EQ(Asked(chains, {4, 16 * 1024}, {{168, {168}}, {0, {128}}}).registers, 168);
}

TEST(AssembleForOccupancy, ChainsThatHoldMoreThanTheirBoundAreAssembledWithoutOneFirst) {
  const std::string large = kernel(holding(190) + loop(product + sum + sum));
  EXPECT_EQ(Asked(large, {4, 16 * 1024}, {{168, {168}}, {0, {128}}}).bounds, (Runs{0, 168}));
  // All registers that there are may spill, which fewer do, too.
  const std::string larger = kernel(holding(300) + loop(product + sum + sum));
  EXPECT_EQ(Asked(larger, {2, 16 * 1024}, {{255, {255, 400}}, {0, {64, 900}}}).bounds, Runs{255});
  EXPECT_EQ(Asked(large, {2, 16 * 1024}, {{255, {255, 400}}, {0, {168, 8}}}).bounds, (Runs{255, 0}));
}

TEST(AssembleForOccupancy, WhoAsksForRegistersHasThemCounted) {
  Asked asked(chains, {4, 16 * 1024, 64}, {{0, {80}}});
  EXPECT_EQ(asked.bounds, Runs{0});
  EXPECT_EQ(asked.ptx, chains);
}

TEST(AssembleForOccupancy, WhatDoesNotFitIsAskedForAllRegisters) {
  Asked asked(kernel(sum), {1, 0}, {{0, {64, 4000}}, {255, {255, 40}}});
  EXPECT_EQ(asked.bounds, (Runs{0, 255}));
  EXPECT_EQ(asked.registers, 255);
  EXPECT_EQ(Asked(kernel(sum), {1, 0}, {{0, {64, 40}}, {255, {255, 40}}}).registers, 64);
}

TEST(AssembleForOccupancy, WhatHoldsFarTooMuchIsBoundToAllRegistersAtOnce) {
  const std::string text = kernel(holding(1020));
  Asked asked(text, {4, 0}, {{0, {32, 9000}}, {255, {255, 2000}}});
  EXPECT_EQ(asked.bounds, Runs{255});
  EXPECT_EQ(asked.registers, 255);
  EXPECT_EQ(Asked(text, {4, 0}, {{0, {90}}, {255, {120}}}).bounds, (Runs{255, 0}));
  EXPECT_EQ(Asked(text, {4, 0}, {{0, {90}}, {255, {120}}}).registers, 90);
  EXPECT_EQ(Asked(kernel(holding(1000)), {4, 0}, {{0, {32, 9000}}, {255, {255, 2000}}}).bounds,
            (Runs{0, 255}));
}

TEST(AssembleForOccupancy, WhatLongChainsComputeMayBeHeldInTurn) {
  const std::string text = kernel(holding(1020) + repeat(sum, 29000));
  EXPECT_EQ(Asked(text, {4, 0}, {{0, {56, 20}}, {255, {255, 264}}}).bounds, Runs{0});
}

TEST(AssembleForOccupancy, AFewSpilledBytesOfALongTextStay) {
  EXPECT_EQ(Asked(kernel(repeat(sum, 4000)), {4, 0}, {{0, {168, 8}}}).bounds, Runs{0});
  EXPECT_EQ(Asked(kernel(repeat(sum, 3000)), {4, 0}, {{0, {168, 8}}, {255, {255}}}).bounds, (Runs{0, 255}));
}

TEST(AssembleForOccupancy, ATextWithABoundStaysAsItIs) {
  const std::string bound = ".entry k()\n.maxnreg 32\n.reqntid 128, 1, 1\n{\n" + chains;
  Asked asked(bound, {4, 0}, {{0, {32, 400}}});
  EXPECT_EQ(asked.bounds, Runs{0});
  EXPECT_EQ(asked.ptx, bound);
}

TEST(AssembleForOccupancy, SmallProgramsWhoseLoadsMayTakeTurnsAreBoundAtOnce) {
  const std::string text = kernel(loop(repeat(load, 34)));
  Asked asked(text, {4, 0}, {{128, {64}}});
  EXPECT_EQ(asked.bounds, Runs{128});
  EXPECT_EQ(asked.registers, 64);
  EXPECT_EQ(Asked(kernel(repeat(load, 2)), {1, 0}, {{128, {120}}}).bounds, Runs{128});
  EXPECT_EQ(Asked(kernel(repeat(load, 2)), {4, 0}, {{0, {32}}}).bounds, Runs{0}); // no loop
  EXPECT_EQ(Asked(kernel(load), {1, 0}, {{0, {32}}}).bounds, Runs{0});            // few loads
  EXPECT_EQ(Asked(kernel(loop(repeat(load, 2)) + holding(57)), {4, 0}, {{0, {96}}}).bounds, Runs{0});
}

TEST(AssembleForOccupancy, LoadsThatTakeTurnsAreAskedForAgain) {
  const std::string text = kernel(loop(repeat(load, 34)));
  Asked fewer(text, {4, 0}, {{128, {72}}, {0, {56}}, {64, {64}}});
  EXPECT_EQ(fewer.bounds, (Runs{128, 0, 64}));
  EXPECT_EQ(fewer.registers, 64);
  Asked more(text, {4, 0}, {{128, {72}}, {0, {64}}});
  EXPECT_EQ(more.bounds, (Runs{128, 0}));
  EXPECT_EQ(more.registers, 72);
  EXPECT_EQ(Asked(text, {8, 0}, {{0, {40}}, {64, {64}}}).bounds, (Runs{0, 64})); // no small program
}

TEST(AssembleForOccupancy, BoundsThatAKernelHoldsFarTooMuchForAreNotAskedFor) {
  auto asked = [](int words) {
    return Asked(kernel(holding(words) + line("bar.sync \t0")), {8, 0},
                 {{0, {96}}, {64, {64, 100}}, {80, {80}}});
  };
  EXPECT_EQ(asked(100).bounds, (Runs{0, 64, 80}));
  EXPECT_EQ(asked(170).bounds, (Runs{0, 80}));
  EXPECT_EQ(asked(170).registers, 80);
  EXPECT_EQ(asked(210).bounds, Runs{0});
  Asked more(kernel(repeat(load, 34) + holding(170)), {8, 0}, {{0, {40}}, {64, {64}}});
  EXPECT_EQ(more.bounds, (Runs{0, 64}));
}

TEST(AssembleForOccupancy, LongTextsAreAssembledAgainOnlyIfTheySpill) {
  const std::string turns = kernel(loop(repeat(load, 34)) + repeat(sum, 15000));
  EXPECT_EQ(Asked(turns, {4, 0}, {{0, {56}}, {64, {64}}}).bounds, Runs{0});
  EXPECT_EQ(Asked(turns, {4, 0}, {{0, {32, 4000}}, {255, {255}}}).bounds, (Runs{0, 255}));
}
