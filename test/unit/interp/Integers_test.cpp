// Integer arithmetic wraps and has no undefined corner (numerical contract N1 to N7).
#include "Program.h"

#include <limits>

using namespace tegula::test;

namespace {

constexpr int32_t most = std::numeric_limits<int32_t>::max(), least = std::numeric_limits<int32_t>::min();
using I32 = std::vector<int32_t>;
using U32 = std::vector<uint32_t>;
using I8 = std::vector<int8_t>;

TEST(Integers, ArithmeticWraps) {
  EXPECT_EQ(binary<int32_t>("arith.addi", "i32", {most, 1}, {1, 2}), (I32{least, 3}));
  EXPECT_EQ(binary<int32_t>("arith.subi", "i32", {least, 1}, {1, 2}), (I32{most, -1}));
  EXPECT_EQ(binary<int32_t>("arith.muli", "i32", {1 << 20, -3}, {1 << 12, 5}), (I32{0, -15}));
  EXPECT_EQ(binary<int8_t>("arith.addi", "i8", {127, -128}, {1, -1}), (I8{-128, 127}));
  EXPECT_EQ(binary<int64_t>("arith.addi", "i64", {INT64_MAX}, {1}), (std::vector<int64_t>{INT64_MIN}));
}

TEST(Integers, DivisionTruncatesAndZeroGivesZero) {
  EXPECT_EQ(binary<int32_t>("arith.divsi", "i32", {7, -7, 7, 5, least}, {2, 2, -2, 0, -1}),
            (I32{3, -3, -3, 0, least}));
  EXPECT_EQ(binary<int32_t>("arith.remsi", "i32", {7, -7, 7, 5, least}, {2, 2, -2, 0, -1}),
            (I32{1, -1, 1, 0, 0}));
  EXPECT_EQ(binary<uint32_t>("arith.divui", "i32", {0xffffffff, 5}, {2, 0}), (U32{0x7fffffff, 0}));
  EXPECT_EQ(binary<uint32_t>("arith.remui", "i32", {0xffffffff, 5}, {2, 0}), (U32{1, 0}));
  EXPECT_EQ(binary<int8_t>("arith.divsi", "i8", {-128, -128}, {-1, 0}), (I8{-128, 0}));
  EXPECT_EQ(binary<int64_t>("arith.divsi", "i64", {INT64_MIN}, {-1}), (std::vector<int64_t>{INT64_MIN}));
  EXPECT_EQ(binary<int32_t>("arith.floordivsi", "i32", {-7, 7, 6, 1}, {2, -2, 3, 0}), (I32{-4, -4, 2, 0}));
  EXPECT_EQ(binary<int32_t>("arith.ceildivsi", "i32", {-7, 7, 6, 1}, {2, 2, 3, 0}), (I32{-3, 4, 2, 0}));
  EXPECT_EQ(binary<uint32_t>("arith.ceildivui", "i32", {7, 6, 1}, {2, 3, 0}), (U32{4, 2, 0}));
}

TEST(Integers, ShiftsByTheWidthOrMore) {
  EXPECT_EQ(binary<int32_t>("arith.shli", "i32", {1, 1, 1, 1}, {31, 32, 33, -1}), (I32{least, 0, 0, 0}));
  EXPECT_EQ(binary<uint32_t>("arith.shrui", "i32", {0x80000000, 0x80000000, 9}, {31, 32, 1}), (U32{1, 0, 4}));
  EXPECT_EQ(binary<int32_t>("arith.shrsi", "i32", {least, least, most, -8}, {31, 32, -1, 1}),
            (I32{-1, -1, 0, -4}));
  EXPECT_EQ(binary<int64_t>("arith.shli", "i64", {1, 1}, {63, 64}), (std::vector<int64_t>{INT64_MIN, 0}));
}

TEST(Integers, BitsAndOrder) {
  EXPECT_EQ(binary<int32_t>("arith.andi", "i32", {12, -1}, {10, 5}), (I32{8, 5}));
  EXPECT_EQ(binary<int32_t>("arith.ori", "i32", {12, -1}, {10, 5}), (I32{14, -1}));
  EXPECT_EQ(binary<int32_t>("arith.xori", "i32", {12, -1}, {10, 5}), (I32{6, -6}));
  EXPECT_EQ(binary<int32_t>("arith.maxsi", "i32", {-1, 3}, {1, 2}), (I32{1, 3}));
  EXPECT_EQ(binary<int32_t>("arith.maxui", "i32", {-1, 3}, {1, 2}), (I32{-1, 3}));
  EXPECT_EQ(binary<int32_t>("arith.minsi", "i32", {-1, 3}, {1, 2}), (I32{-1, 2}));
  EXPECT_EQ(binary<int32_t>("arith.minui", "i32", {-1, 3}, {1, 2}), (I32{1, 2}));
  EXPECT_EQ(unary<int32_t>("math.absi", "i32", {-5, 5, least}), (I32{5, 5, least}));
  EXPECT_EQ(unary<int32_t>("math.ctlz", "i32", {0, 1, -1}), (I32{32, 31, 0}));
  EXPECT_EQ(unary<int32_t>("math.cttz", "i32", {0, 8, -1}), (I32{32, 3, 0}));
  EXPECT_EQ(unary<int32_t>("math.ctpop", "i32", {0, 7, -1}), (I32{0, 3, 32}));
  EXPECT_EQ(binary<uint32_t>("tt.mulhiui", "i32", {0xffffffff, 1u << 31}, {0xffffffff, 2}),
            (U32{0xfffffffe, 1}));
  EXPECT_EQ(binary<uint64_t>("tt.mulhiui", "i64", {~0ull}, {~0ull}), (std::vector<uint64_t>{~0ull - 1}));
}

TEST(Integers, ExtendedResults) {
  auto high = [](const char *op, U32 a, U32 b) {
    std::string n = std::to_string(a.size());
    return apply<uint32_t>(std::string("  %low, %r = ") + op + " %a, %b : tensor<" + n + "xi32>", "i32",
                           a.size(), Buffer<uint32_t>{"i32", a}, Buffer<uint32_t>{"i32", b});
  };
  EXPECT_EQ(high("arith.mului_extended", {~0u, 1u << 31}, {~0u, 2}), (U32{0xfffffffe, 1}));
  EXPECT_EQ(high("arith.mulsi_extended", {~0u, 1u << 31}, {1, 2}), (U32{~0u, ~0u}));
}

TEST(Integers, Comparisons) {
  auto compare = [](const char *predicate) {
    std::string body = std::string("  %t = arith.cmpi ") + predicate +
                       ", %a, %b : tensor<3xi32>\n  %r = arith.extui %t : tensor<3xi1> to tensor<3xi8>";
    return apply<int8_t>(body, "i8", 3, Buffer<int32_t>{"i32", {-1, 2, 3}},
                         Buffer<int32_t>{"i32", {1, 2, 2}});
  };
  EXPECT_EQ(compare("eq"), (I8{0, 1, 0}));
  EXPECT_EQ(compare("ne"), (I8{1, 0, 1}));
  EXPECT_EQ(compare("slt"), (I8{1, 0, 0}));
  EXPECT_EQ(compare("sle"), (I8{1, 1, 0}));
  EXPECT_EQ(compare("sgt"), (I8{0, 0, 1}));
  EXPECT_EQ(compare("sge"), (I8{0, 1, 1}));
  EXPECT_EQ(compare("ult"), (I8{0, 0, 0}));
  EXPECT_EQ(compare("ule"), (I8{0, 1, 0}));
  EXPECT_EQ(compare("ugt"), (I8{1, 0, 1}));
  EXPECT_EQ(compare("uge"), (I8{1, 1, 1}));
}

TEST(Integers, Conversions) {
  EXPECT_EQ((convert<int32_t, int8_t>("arith.extsi", "i8", "i32", {-1, 5})), (I32{-1, 5}));
  EXPECT_EQ((convert<int32_t, int8_t>("arith.extui", "i8", "i32", {-1, 5})), (I32{255, 5}));
  EXPECT_EQ((convert<int8_t, int32_t>("arith.trunci", "i32", "i8", {0x1ff, 0x180})), (I8{-1, -128}));
}

} // namespace
