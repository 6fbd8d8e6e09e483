// Long programs on the CPU: they compile on a bounded stack and compute what short ones do.
#include "Compiled.h"

using namespace tegula;
using namespace tegula::test;

namespace {

std::vector<int32_t> counting() {
  std::vector<int32_t> values(64);
  for (int32_t i = 0; i < 64; ++i)
    values[size_t(i)] = i;
  return values;
}

TEST(Growth, ADeepExpressionIsCutByTilesInMemory) {
  constexpr unsigned depth = 5000;
  std::string text = "%x = tt.load %pa : tensor<64x!tt.ptr<i32>> -> tensor<64xi32>\n%y0 = arith.addi %x, %x "
                     ": tensor<64xi32>\n";
  for (unsigned n = 0; n < depth; ++n) {
    std::string y = "%y" + std::to_string(n), product = "%m" + std::to_string(n);
    text += product + " = arith.muli " + y + ", %x : tensor<64xi32>\n%y" + std::to_string(n + 1) +
            " = arith.addi " + product + ", %x : tensor<64xi32>\n";
  }
  Compiled kernel(overTwoArrays(text + "tt.store %qa, %y" + std::to_string(depth) +
                                " : tensor<64x!tt.ptr<i32>>, tensor<64xi32>\n"));
  ASSERT_TRUE(kernel.status.ok()) << kernel.status.message;
  EXPECT_TRUE(kernel.hasRemark("buffer", "operations deep"));
  std::vector<int32_t> from = counting(), to(64);
  ASSERT_TRUE(kernel.run({address(from), address(to)}).ok());
  for (size_t i = 0; i < 64; ++i) {
    uint32_t x = uint32_t(from[i]), y = 2 * x;
    for (unsigned n = 0; n < depth; ++n)
      y = y * x + x;
    ASSERT_EQ(uint32_t(to[i]), y) << "at " << i;
  }
}

// Two values that each round computes from both: where expressions are cut both lie in memory, written by one
// nest, so that the number of nests grows with the depth alone.
TEST(Growth, ValuesThatAreAliveWhereADeepExpressionIsCutAreComputedOnce) {
  constexpr unsigned rounds = 2000;
  std::string text =
      "%a0 = tt.load %pa : tensor<64x!tt.ptr<i32>> -> tensor<64xi32>\n%b0 = arith.addi %a0, %a0 "
      ": tensor<64xi32>\n";
  for (unsigned n = 0; n < rounds; ++n) {
    std::string a = "%a" + std::to_string(n), b = "%b" + std::to_string(n), next = std::to_string(n + 1);
    text += "%a" + next + " = arith.addi " + a + ", " + b + " : tensor<64xi32>\n%b" + next +
            " = arith.xori " + a + ", " + b + " : tensor<64xi32>\n";
  }
  text += "%s = arith.addi %a" + std::to_string(rounds) + ", %b" + std::to_string(rounds) +
          " : tensor<64xi32>\ntt.store %qa, %s : tensor<64x!tt.ptr<i32>>, tensor<64xi32>\n";
  Compiled kernel(overTwoArrays(text));
  ASSERT_TRUE(kernel.status.ok()) << kernel.status.message;
  EXPECT_LE(kernel.remarks("buffer", "operations deep"), 2 * (rounds / 512 + 1));
  std::vector<int32_t> from = counting(), to(64);
  ASSERT_TRUE(kernel.run({address(from), address(to)}).ok());
  for (size_t i = 0; i < 64; ++i) {
    uint32_t a = uint32_t(from[i]), b = 2 * a;
    for (unsigned n = 0; n < rounds; ++n) {
      uint32_t sum = a + b;
      b = a ^ b;
      a = sum;
    }
    ASSERT_EQ(uint32_t(to[i]), a + b) << "at " << i;
  }
}

TEST(Growth, AnAddressOfManySumsIsRight) {
  std::string text =
      "%o0 = arith.constant dense<0> : tensor<64xi32>\n%n = arith.constant dense<-1> : tensor<64xi32>\n";
  for (unsigned n = 0; n < 5000; ++n) // adds and takes away, and ends at i
    text += "%o" + std::to_string(n + 1) + " = arith." + (n % 2 ? "subi" : "addi") + " %o" +
            std::to_string(n) + ", %i : tensor<64xi32>\n";
  text += R"(%o = arith.addi %o5000, %i : tensor<64xi32>
    %a = tt.addptr %ps, %o : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
    %v = tt.load %a : tensor<64x!tt.ptr<i32>> -> tensor<64xi32>
    tt.store %qa, %v : tensor<64x!tt.ptr<i32>>, tensor<64xi32>)";
  Compiled kernel(overTwoArrays(text));
  ASSERT_TRUE(kernel.status.ok()) << kernel.status.message;
  std::vector<int32_t> from = counting(), to(64);
  ASSERT_TRUE(kernel.run({address(from), address(to)}).ok());
  EXPECT_EQ(to, from);
}

// All loads come first: what a later nest stores must not change what an earlier load gave.
TEST(Growth, ManyStoresBehindTheirLoadsKeepTheirOrder) {
  std::string text;
  for (unsigned n = 0; n < 20; ++n) {
    std::string id = std::to_string(n);
    text += "%c" + id + " = arith.constant dense<" + id + "> : tensor<64xi32>\n%f" + id +
            " = tt.addptr %pa, %c" + id + " : tensor<64x!tt.ptr<i32>>, tensor<64xi32>\n%v" + id +
            " = tt.load %f" + id + " : tensor<64x!tt.ptr<i32>> -> tensor<64xi32>\n";
  }
  for (unsigned n = 0; n < 20; ++n) {
    std::string id = std::to_string(n);
    text += "%t" + id + " = tt.addptr %qa, %c" + id +
            " : tensor<64x!tt.ptr<i32>>, tensor<64xi32>\ntt.store %t" + id + ", %v" + std::to_string(19 - n) +
            " : tensor<64x!tt.ptr<i32>>, tensor<64xi32>\n";
  }
  Compiled kernel(overTwoArrays(text));
  ASSERT_TRUE(kernel.status.ok()) << kernel.status.message;
  std::vector<int32_t> memory(64 + 20);
  for (size_t i = 0; i < memory.size(); ++i)
    memory[i] = int32_t(i * i);
  std::vector<int32_t> expected = memory;
  for (size_t n = 0; n < 20; ++n)
    for (size_t i = 0; i < 64; ++i)
      expected[n + i] = memory[19 - n + i];
  ASSERT_TRUE(kernel.run({address(memory), address(memory)}).ok());
  EXPECT_EQ(memory, expected);
}

} // namespace
