// Where a form does not hold, or arguments overlap, the kernel still means what it says; where nothing can go
// wrong there is no test at run time.
#include "Compiled.h"

#include <numeric>

using namespace tegula;
using namespace tegula::test;

namespace {

std::vector<int32_t> counting(size_t n) {
  std::vector<int32_t> values(n);
  std::iota(values.begin(), values.end(), 1);
  return values;
}

const std::string copy = R"(%x = tt.load %pa : tensor<64x!tt.ptr<i32>> -> tensor<64xi32>
    tt.store %qa, %x : tensor<64x!tt.ptr<i32>>, tensor<64xi32>)";

TEST(Guards, OverlapInEitherDirection) {
  Compiled kernel(overTwoArrays(copy));
  EXPECT_TRUE(kernel.hasRemark("guard", "a run-time test of overlap"));
  for (int distance : {-64, -63, -8, -1, 0, 1, 5, 8, 63, 64}) {
    std::vector<int32_t> memory = counting(200), expected = memory;
    std::copy_n(memory.begin() + 64, 64, expected.begin() + 64 + distance); // read whole, then written
    if (distance > 0)
      for (int i = 63; i >= 0; --i)
        expected[64 + distance + i] = memory[64 + i];
    ASSERT_TRUE(kernel.run({address(memory) + 64 * 4, address(memory) + (64 + distance) * 4}).ok());
    EXPECT_EQ(memory, expected) << "distance " << distance;
  }
}

TEST(Guards, NoneWhereNothingIsLoaded) {
  Compiled kernel(overTwoArrays("tt.store %qa, %i : tensor<64x!tt.ptr<i32>>, tensor<64xi32>"));
  EXPECT_FALSE(kernel.hasRemark("guard", ""));
  std::vector<int32_t> p(64), q(64), expected(64);
  std::iota(expected.begin(), expected.end(), 0);
  ASSERT_TRUE(kernel.run({address(p), address(q)}).ok());
  EXPECT_EQ(q, expected);
}

// i + n wraps around for the last elements: they are below the bound although i + n in the integers is not.
TEST(Guards, MasksThatWrap) {
  Compiled kernel(overTwoArrays(R"(
    %ns = tt.splat %n : i32 -> tensor<64xi32>
    %sum = arith.addi %i, %ns : tensor<64xi32>
    %bound = arith.constant dense<-100> : tensor<64xi32>
    %m = arith.cmpi slt, %sum, %bound : tensor<64xi32>
    tt.store %qa, %i mask %m : tensor<64x!tt.ptr<i32>>, tensor<64xi32>, mask tensor<64xi1>)",
                                ", %n: i32"));
  for (int32_t n : {0, -130, INT32_MAX - 20, INT32_MIN}) {
    std::vector<int32_t> p(64), q(64, -1), expected(64, -1);
    for (int32_t i = 0; i < 64; ++i)
      if (int32_t(uint32_t(i) + uint32_t(n)) < -100)
        expected[i] = i;
    ASSERT_TRUE(kernel.run({address(p), address(q), uint64_t(int64_t(n))}).ok());
    EXPECT_EQ(q, expected) << "n = " << n;
  }
}

// The offset i * stride wraps in 32 bits before it is added to the pointer.
TEST(Guards, OffsetsThatWrap) {
  Compiled kernel(overTwoArrays(R"(
    %ss = tt.splat %stride : i32 -> tensor<64xi32>
    %wide = arith.muli %i, %ss : tensor<64xi32>
    %a = tt.addptr %ps, %wide : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
    %x = tt.load %a : tensor<64x!tt.ptr<i32>> -> tensor<64xi32>
    tt.store %qa, %x : tensor<64x!tt.ptr<i32>>, tensor<64xi32>)",
                                ", %stride: i32"));
  for (int32_t stride : {0, 1, 3, -1, int32_t(0xc0000001)}) { // the last: multiples of 4 stay small
    std::vector<int32_t> p = counting(64 * 3 * 2), q(64), expected(64);
    bool small = true;
    for (int32_t i = 0; i < 64; ++i)
      small &= std::abs(int64_t(int32_t(uint32_t(i) * uint32_t(stride)))) <= 64 * 3;
    if (!small)
      continue;
    for (int32_t i = 0; i < 64; ++i)
      expected[i] = p[64 * 3 + int32_t(uint32_t(i) * uint32_t(stride))];
    ASSERT_TRUE(kernel.run({address(p) + 64 * 3 * 4, address(q), uint64_t(int64_t(stride))}).ok());
    EXPECT_EQ(q, expected) << "stride " << stride;
  }
}

TEST(Guards, TwoStoresThatOverlapKeepTheirOrder) {
  Compiled kernel(overTwoArrays(R"(
    %seven = arith.constant dense<7> : tensor<64xi32>
    tt.store %pa, %i : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
    tt.store %qa, %seven : tensor<64x!tt.ptr<i32>>, tensor<64xi32>)"));
  for (int distance : {-10, 0, 1, 10}) {
    std::vector<int32_t> memory(100, -1), expected(100, -1);
    for (int i = 0; i < 64; ++i)
      expected[16 + i] = i;
    for (int i = 0; i < 64; ++i)
      expected[16 + distance + i] = 7;
    ASSERT_TRUE(kernel.run({address(memory) + 16 * 4, address(memory) + (16 + distance) * 4}).ok());
    EXPECT_EQ(memory, expected) << "distance " << distance;
  }
}

} // namespace
