// Questions about the text of a kernel find its loops, whatever order their blocks stand in.
#include "targets/nvidia/KernelText.h"

#include <gtest/gtest.h>

#include <string>

using namespace tegula::nvidia;

namespace {

std::string line(const std::string &text) { return "\t" + text + ";\n"; }
std::string label(int number) { return "$L__BB0_" + std::to_string(number) + ":\n"; }
std::string jump(int number) { return line("@%p1 bra \t$L__BB0_" + std::to_string(number)); }

const std::string product = "\tmma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32\n",
                  sum = line("add.rn.f32 \t%r1, %r2, %r3"),
                  load = line("ld.global.v4.b32 \t{%r1, %r2, %r3, %r4}, [%rd1]");

} // namespace

TEST(KernelText, ALoopIsAJumpBack) {
  EXPECT_TRUE(hasLoops(label(1) + sum + jump(1)));
  EXPECT_FALSE(hasLoops(jump(1) + sum + label(1)));
  EXPECT_FALSE(hasLoops(label(1) + sum + jump(11) + label(11)));
  EXPECT_FALSE(hasLoops(""));
}

TEST(KernelText, FloatsOfTheInnermostLoopCount) {
  EXPECT_TRUE(computesBesideProducts(label(1) + product + sum + sum + jump(1)));
  EXPECT_FALSE(computesBesideProducts(label(1) + product + sum + jump(1)));
  EXPECT_FALSE(computesBesideProducts(label(1) + product + jump(1) + sum + sum));
  EXPECT_FALSE(computesBesideProducts(label(1) + sum + sum + jump(1)));
  // Around the loop of products tiles end with sums.
  EXPECT_FALSE(computesBesideProducts(label(1) + label(2) + product + jump(2) + sum + sum + jump(1)));
  EXPECT_TRUE(computesBesideProducts(label(1) + label(2) + product + sum + sum + jump(2) + jump(1)));
}

TEST(KernelText, AJumpOutOfALoopToABlockAheadIsNoLoop) {
  EXPECT_FALSE(computesBesideProducts(label(11) + sum + sum + label(10) + product + jump(11) + jump(10)));
}

TEST(KernelText, LoadsInTurnEndAtBranchesAndLabels) {
  EXPECT_EQ(loadedInTurn(load + sum + load), 8u);
  EXPECT_EQ(loadedInTurn(load + label(1) + load), 4u);
  EXPECT_EQ(loadedInTurn(load + jump(1) + load + load), 8u);
  EXPECT_EQ(loadedInTurn(line("ld.global.v2.b64 \t{%rd1, %rd2}, [%rd3]")), 4u);
  EXPECT_EQ(loadedInTurn(sum), 0u);
}
