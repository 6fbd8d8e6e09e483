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
