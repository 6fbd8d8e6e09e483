// The guess how neighbours share addresses: right through deep expressions, with work that grows as they do.
#include "../analysis/Parsed.h"
#include "convert/Locality.h"

using namespace tegula;
using namespace tegula::test;
using convert::Locality;

namespace {

const std::string range = "%i = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>\n";

// `%a` is `seed` after `rounds` of x ^= x << 1, whose operand is read twice.
std::string rounds(unsigned rounds, const std::string &seed) {
  std::string text = "%one = arith.constant dense<1> : tensor<64xi32>\n";
  std::string name = seed;
  for (unsigned r = 0; r < rounds; ++r) {
    std::string s = "%s" + std::to_string(r), x = "%x" + std::to_string(r);
    text += s + " = arith.shli " + name + ", %one : tensor<64xi32>\n" + x + " = arith.xori " + name + ", " +
            s + " : tensor<64xi32>\n";
    name = x;
  }
  return text + "%a = arith.addi " + name + ", " + name + " {here} : tensor<64xi32>\n";
}

TEST(Locality, FindsPackedValues) {
  Parsed kernel("%n: i32", range + R"(
    %eight = arith.constant dense<8> : tensor<64xi32>
    %a = arith.divsi %i, %eight {here} : tensor<64xi32>)");
  EXPECT_EQ(Locality().sharingRun(kernel.marked(), 0, 16), 8u * 2);
  EXPECT_EQ(Locality().sharingRun(kernel.marked(), 0, 4), 1u) << "one address for a whole run is a broadcast";
}

TEST(Locality, LooksAtASharedValueOnce) {
  Parsed small("%n: i32", range + rounds(10, "%i")), large("%n: i32", range + rounds(40, "%i"));
  Locality locality, other;
  locality.sharingRun(small.marked(), 0, 16);
  other.sharingRun(large.marked(), 0, 16);
  EXPECT_EQ(locality.sampled(), 2u + 2 * 10 + 1);
  EXPECT_EQ(other.sampled(), 2u + 2 * 40 + 1);
}

TEST(Locality, SeesThroughDeepExpressions) {
  std::string packed =
      "%eight = arith.constant dense<8> : tensor<64xi32>\n%q = arith.divsi %i, %eight : tensor<64xi32>\n";
  std::string zero =
      "%z = arith.constant dense<0> : tensor<64xi32>\n%x0 = arith.addi %q, %z : tensor<64xi32>\n";
  for (unsigned r = 0; r < 5000; ++r)
    zero += "%x" + std::to_string(r + 1) + " = arith.addi %x" + std::to_string(r) + ", %z : tensor<64xi32>\n";
  Parsed kernel("%n: i32", range + packed + zero + "%a = arith.addi %x5000, %z {here} : tensor<64xi32>\n");
  EXPECT_EQ(Locality().sharingRun(kernel.marked(), 0, 16), 16u);
}

TEST(Locality, KnowsNothingBeyondItsLimit) {
  Parsed kernel("%n: i32", range + R"(
    %eight = arith.constant dense<8> : tensor<64xi32>
    %x = arith.divsi %i, %eight : tensor<64xi32>
    %a = arith.addi %x, %eight {here} : tensor<64xi32>)");
  Locality limited(3);
  EXPECT_EQ(Locality(4).sharingRun(kernel.marked(), 0, 16), 16u);
  EXPECT_EQ(limited.sharingRun(kernel.marked(), 0, 16), 1u);
  EXPECT_EQ(limited.sampled(), 3u);
}

} // namespace
