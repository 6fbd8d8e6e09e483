// Questions about the text of a kernel find its loops, whatever order their blocks stand in.
#include "KernelLines.h"
#include "targets/nvidia/KernelText.h"

#include <gtest/gtest.h>

using namespace tegula::nvidia;

TEST(KernelText, ALoopIsAJumpBack) {
  EXPECT_TRUE(hasLoops(label(1) + sum + jump(1)));
  EXPECT_FALSE(hasLoops(jump(1) + sum + label(1)));
  EXPECT_FALSE(hasLoops(label(1) + sum + jump(11) + label(11)));
  EXPECT_FALSE(hasLoops(""));
}

// Code that runs rarely stands last, and jumps back to where the rest runs on.
TEST(KernelText, AJumpBackToABlockOnAnotherWayIsNoLoop) {
  const std::string slow = jump(1) + label(2) + sum + line("ret") + label(1) + sum + alwaysJump(2);
  EXPECT_FALSE(hasLoops(slow));
  EXPECT_TRUE(
      hasLoops(label(3) + jump(1) + label(2) + sum + jump(3) + line("ret") + label(1) + sum + alwaysJump(2)));
  EXPECT_FALSE(hasLoops(label(2) + line("ret") + label(1) + alwaysJump(2))); // nothing gets there
  EXPECT_TRUE(hasLoops(label(1) + sum + jump(2) + line("ret") + label(2) + alwaysJump(1)));
}

TEST(KernelText, SwitchesJumpToTheirLabels) {
  const std::string list = "$L_brx_0: .branchtargets\n\t$L__BB0_1,\n\t$L__BB0_2;\n",
                    jumps = line("brx.idx \t%r1, $L_brx_0");
  EXPECT_TRUE(hasLoops(label(1) + sum + list + jumps + label(2) + line("ret")));
  EXPECT_FALSE(hasLoops(list + jumps + label(1) + sum + label(2) + line("ret")));
}

TEST(KernelText, TextsOfManyBlocksTakeNoStack) {
  std::string text;
  for (int i = 0; i != 100000; ++i)
    text += jump(i + 1) + label(i);
  EXPECT_FALSE(hasLoops(text));
  EXPECT_TRUE(hasLoops(label(-1) + text + alwaysJump(-1)));
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

TEST(KernelText, BlocksOfALoopCountWhereverTheyStand) {
  const std::string rare = jump(2) + label(3) + jump(1) + line("ret") + label(2);
  EXPECT_TRUE(computesBesideProducts(label(1) + product + rare + sum + sum + alwaysJump(3)));
  EXPECT_FALSE(computesBesideProducts(label(1) + product + rare + sum + sum + line("ret")));
}

TEST(KernelText, LoadsInTurnEndAtBranchesAndLabels) {
  EXPECT_EQ(loadedInTurn(load + sum + load), 8u);
  EXPECT_EQ(loadedInTurn(load + label(1) + load), 4u);
  EXPECT_EQ(loadedInTurn(load + jump(1) + load + load), 8u);
  EXPECT_EQ(loadedInTurn(line("ld.global.v2.b64 \t{%rd1, %rd2}, [%rd3]")), 4u);
  EXPECT_EQ(loadedInTurn(sum), 0u);
}

TEST(KernelText, StatementsAreCounted) {
  EXPECT_EQ(statements(label(1) + sum + load + jump(1)), 3u);
  EXPECT_EQ(statements(""), 0u);
}

TEST(KernelText, WordsAreHeldFromTheirFirstMentionToTheirLast) {
  EXPECT_EQ(wordsHeld(line("mov.b32 \t%r1, 0") + line("mov.b64 \t%rd1, 0") + line("mov.b16 \t%rs1, 0") +
                      line("st.global.b32 \t[%rd1], %r1") + line("st.global.b16 \t[%rd1], %rs1")),
            4u);
  EXPECT_EQ(wordsHeld(line("mov.b32 \t%r1, 0") + line("add.s32 \t%r2, %r1, 1") +
                      line("add.s32 \t%r3, %r2, 1") + line("st.global.b32 \t[%rd1], %r3")),
            1u); // one ends where the next one begins
  EXPECT_EQ(wordsHeld("\t.reg .b32 \t%r<9>;\n" + line("mov.u32 \t%r1, %tid.x")), 0u);
  EXPECT_EQ(wordsHeld(""), 0u);
}
