// Floating-point arithmetic rounds once to its type (numerical contract N8 to N19).
#include "Program.h"

#include <cmath>
#include <limits>
#include <random>

using namespace tegula::test;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
using F32 = std::vector<float>;
using U16 = std::vector<uint16_t>;
using U8 = std::vector<uint8_t>;

// Equal, NaN being one value and zeros having signs.
template <class T> void expectSame(const std::vector<T> &actual, const std::vector<T> &expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    if (!(std::isnan(actual[i]) && std::isnan(expected[i])))
      EXPECT_TRUE(actual[i] == expected[i] && std::signbit(actual[i]) == std::signbit(expected[i]))
          << "element " << i << ": " << actual[i] << ", should be " << expected[i];
}

// Random bits: all magnitudes, subnormals, infinities and NaN among them.
F32 randomFloats(unsigned seed, size_t n = 4000) {
  std::mt19937 generator(seed);
  F32 values(n);
  for (float &value : values)
    value = std::bit_cast<float>(uint32_t(generator()));
  return values;
}

TEST(Floats, SinglesRoundAsTheHardwareDoes) {
  F32 a = randomFloats(1), b = randomFloats(2);
  for (size_t i = 0; i < 500; ++i) // sums that round
    b[i] = a[i] * (1.0f + float(i) / 777.0f);
  auto check = [&](const char *op, auto f) {
    F32 expected(a.size());
    for (size_t i = 0; i < a.size(); ++i)
      expected[i] = f(a[i], b[i]);
    expectSame(binary(op, "f32", a, b), expected);
  };
  check("arith.addf", [](float x, float y) { return x + y; });
  check("arith.subf", [](float x, float y) { return x - y; });
  check("arith.mulf", [](float x, float y) { return x * y; });
  check("arith.divf", [](float x, float y) { return x / y; });
  check("tt.precise_divf", [](float x, float y) { return x / y; });
  check("arith.remf", [](float x, float y) { return std::fmod(x, y); });
  check("math.copysign", [](float x, float y) { return std::copysign(x, y); });
}

TEST(Floats, FusedMultiplyAddRoundsOnce) {
  auto fma = [](F32 a, F32 b, F32 c) {
    std::string n = std::to_string(a.size());
    return apply<float>("  %r = math.fma %a, %b, %c : tensor<" + n + "xf32>", "f32", a.size(),
                        Buffer<float>{"f32", a}, Buffer<float>{"f32", b}, Buffer<float>{"f32", c});
  };
  F32 a = randomFloats(3), b = randomFloats(4), c = randomFloats(5), expected(a.size());
  for (size_t i = 0; i < a.size(); ++i)
    expected[i] = std::fmaf(a[i], b[i], c[i]);
  expectSame(fma(a, b, c), expected);
  // Rounding the f64 sum once more would give 1 + 2^-23.
  expectSame(fma({1 + 0x1p-12f}, {0x1p-24f * (1 - 0x1p-12f)}, {1.0f}),
             {std::fmaf(1 + 0x1p-12f, 0x1p-24f * (1 - 0x1p-12f), 1)});
  // f16: 2^-24 * 2^-24 + 1.0009765625 (next after 1) stays; the tie is broken by the tiny product.
  auto half = [](U16 x, U16 y, U16 z) {
    return apply<uint16_t>("  %r = math.fma %a, %b, %c : tensor<1xf16>", "f16", 1, Buffer<uint16_t>{"f16", x},
                           Buffer<uint16_t>{"f16", y}, Buffer<uint16_t>{"f16", z});
  };
  EXPECT_EQ(half({0x0001}, {0x0001}, {0x3c01}), (U16{0x3c01}));
  EXPECT_EQ(half({0x3c00}, {0x3c00}, {0x3c00}), (U16{0x4000}));
}

TEST(Floats, SmallFloatsRoundAfterEachOperation) {
  // 2048 + 1 = 2048 in f16 (tie to even), 2048 + 3 = 2052; 65504 + 32 overflows.
  EXPECT_EQ(binary<uint16_t>("arith.addf", "f16", {0x6800, 0x6800, 0x7bff}, {0x3c00, 0x4200, 0x5000}),
            (U16{0x6800, 0x6802, 0x7c00}));
  // 1/3
  EXPECT_EQ(binary<uint16_t>("arith.divf", "f16", {0x3c00}, {0x4200}), (U16{0x3555}));
  EXPECT_EQ(binary<uint16_t>("arith.divf", "bf16", {0x3f80}, {0x4040}), (U16{0x3eab}));
  // Subnormals are kept.
  EXPECT_EQ(binary<uint16_t>("arith.mulf", "f16", {0x0400}, {0x3800}), (U16{0x0200}));
  // bf16: 256 + 1 = 256
  EXPECT_EQ(binary<uint16_t>("arith.addf", "bf16", {0x4380}, {0x3f80}), (U16{0x4380}));
}

TEST(Floats, EveryHalfSurvivesSinglePrecision) {
  U16 all(1 << 16);
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = uint16_t(i);
  for (const char *type : {"f16", "bf16"}) {
    std::string body = std::string("  %w = arith.extf %a : tensor<65536x") + type +
                       "> to tensor<65536xf32>\n" +
                       "  %r = arith.truncf %w : tensor<65536xf32> to tensor<65536x" + type + ">";
    U16 back = apply<uint16_t>(body, type, all.size(), Buffer<uint16_t>{type, all});
    const uint16_t infinity = type[0] == 'f' ? 0x7c00 : 0x7f80;
    for (size_t i = 0; i < all.size(); ++i)
      if ((all[i] & 0x7fff) <= infinity) {
        ASSERT_EQ(back[i], all[i]) << type;
      } else {
        ASSERT_GT(back[i] & 0x7fff, infinity) << type;
      }
  }
}

TEST(Floats, NarrowingRoundsToNearestEven) {
  // 1 + 2^-11 is a tie to 1; just above goes up; 65520 is a tie to infinity.
  EXPECT_EQ((convert<uint16_t, float>("arith.truncf", "f32", "f16",
                                      {1 + 0x1p-11f, 1 + 0x1.8p-11f, 65520.0f, 65519.0f})),
            (U16{0x3c00, 0x3c01, 0x7c00, 0x7bff}));
  EXPECT_EQ((convert<uint16_t, float>("arith.truncf", "f32", "bf16", {1 + 0x1p-8f, 1 + 0x1.01p-8f, -inf})),
            (U16{0x3f80, 0x3f81, 0xff80}));
  // From f64 once, not through f32: 1 + 2^-11 + 2^-40 lies above the tie.
  EXPECT_EQ((convert<uint16_t, double>("arith.truncf", "f64", "f16", {1 + 0x1p-11 + 0x1p-40})),
            (U16{0x3c01}));
}

TEST(Floats, EightBitsSaturate) {
  EXPECT_EQ((convert<uint8_t, float>("tt.fp_to_fp", "f32", "f8E5M2", {1.0f, 1e9f, -inf, 57344.0f}, " -> ")),
            (U8{0x3c, 0x7b, 0xfb, 0x7b}));
  EXPECT_EQ((convert<uint8_t, float>("tt.fp_to_fp", "f32", "f8E4M3FN", {1.0f, 1e9f, -inf, 448.0f, 0x1p-9f},
                                     " -> ")),
            (U8{0x38, 0x7e, 0xfe, 0x7e, 0x01}));
  expectSame(
      (convert<float, uint8_t>("tt.fp_to_fp", "f8E4M3FN", "f32", {0x38, 0x7e, 0x7f, 0x01, 0x80}, " -> ")),
      {1.0f, 448.0f, nan, 0x1p-9f, -0.0f});
  expectSame(
      (convert<float, uint8_t>("tt.fp_to_fp", "f8E5M2", "f32", {0x3c, 0x7c, 0xfc, 0x7d, 0x01}, " -> ")),
      {1.0f, inf, -inf, nan, 0x1p-16f});
}

TEST(Floats, RoundingTowardZero) {
  auto narrow = [](const char *mode) {
    return apply<uint16_t>(std::string("  %r = tt.fp_to_fp %a ") + mode +
                               " : tensor<2xf32> -> tensor<2xbf16>",
                           "bf16", 2, Buffer<float>{"f32", {1 + 0x1.ffp-8f, -(1 + 0x1.ffp-8f)}});
  };
  EXPECT_EQ(narrow("{rounding = 1 : i32}"), (U16{0x3f80, 0xbf80}));
  EXPECT_EQ(narrow(""), (U16{0x3f81, 0xbf81}));
}

TEST(Floats, MaximumAndMinimum) {
  F32 a{1, nan, 3, nan, -0.0f}, b{2, 5, nan, nan, 0.0f};
  expectSame(binary("arith.maxnumf", "f32", a, b), {2, 5, 3, nan, 0.0f});
  expectSame(binary("arith.minnumf", "f32", a, b), {1, 5, 3, nan, -0.0f});
  expectSame(binary("arith.maximumf", "f32", a, b), {2, nan, nan, nan, 0.0f});
  expectSame(binary("arith.minimumf", "f32", a, b), {1, nan, nan, nan, -0.0f});
}

TEST(Floats, Clamp) {
  auto clamp = [](const char *flag, F32 value) {
    std::string n = std::to_string(value.size());
    return apply<float>("  %r = tt.clampf %a, %b, %c " + std::string(flag) + ": tensor<" + n + "xf32>", "f32",
                        value.size(), Buffer<float>{"f32", value},
                        Buffer<float>{"f32", F32(value.size(), -1.0f)},
                        Buffer<float>{"f32", F32(value.size(), 2.0f)});
  };
  expectSame(clamp("", {-5, 0.5f, 7, nan}), {-1, 0.5f, 2, -1});
  expectSame(clamp("propagate_nan ", {-5, 0.5f, 7, nan}), {-1, 0.5f, 2, nan});
}

TEST(Floats, Comparisons) {
  auto compare = [](const char *predicate) {
    std::string body = std::string("  %t = arith.cmpf ") + predicate +
                       ", %a, %b : tensor<4xf32>\n  %r = arith.extui %t : tensor<4xi1> to tensor<4xi8>";
    return apply<uint8_t>(body, "i8", 4, Buffer<float>{"f32", {1, 2, 2, nan}},
                          Buffer<float>{"f32", {2, 2, 1, 1}});
  };
  EXPECT_EQ(compare("oeq"), (U8{0, 1, 0, 0}));
  EXPECT_EQ(compare("ogt"), (U8{0, 0, 1, 0}));
  EXPECT_EQ(compare("oge"), (U8{0, 1, 1, 0}));
  EXPECT_EQ(compare("olt"), (U8{1, 0, 0, 0}));
  EXPECT_EQ(compare("ole"), (U8{1, 1, 0, 0}));
  EXPECT_EQ(compare("one"), (U8{1, 0, 1, 0}));
  EXPECT_EQ(compare("ord"), (U8{1, 1, 1, 0}));
  EXPECT_EQ(compare("ueq"), (U8{0, 1, 0, 1}));
  EXPECT_EQ(compare("ugt"), (U8{0, 0, 1, 1}));
  EXPECT_EQ(compare("uge"), (U8{0, 1, 1, 1}));
  EXPECT_EQ(compare("ult"), (U8{1, 0, 0, 1}));
  EXPECT_EQ(compare("ule"), (U8{1, 1, 0, 1}));
  EXPECT_EQ(compare("une"), (U8{1, 0, 1, 1}));
  EXPECT_EQ(compare("uno"), (U8{0, 0, 0, 1}));
  EXPECT_EQ(compare("true"), (U8{1, 1, 1, 1}));
  EXPECT_EQ(compare("false"), (U8{0, 0, 0, 0}));
}

TEST(Floats, ToIntegersSaturate) {
  EXPECT_EQ((convert<int32_t, float>("arith.fptosi", "f32", "i32", {1.9f, -1.9f, 3e9f, -3e9f, nan, inf})),
            (std::vector<int32_t>{1, -1, INT32_MAX, INT32_MIN, 0, INT32_MAX}));
  EXPECT_EQ((convert<uint32_t, float>("arith.fptoui", "f32", "i32", {1.9f, -1.9f, 3e9f, 5e9f, nan, -0.5f})),
            (std::vector<uint32_t>{1, 0, 3000000000u, UINT32_MAX, 0, 0}));
  EXPECT_EQ((convert<int8_t, float>("arith.fptosi", "f32", "i8", {127.9f, 128.0f, -128.9f, -200.0f})),
            (std::vector<int8_t>{127, 127, -128, -128}));
  EXPECT_EQ((convert<int64_t, double>("arith.fptosi", "f64", "i64", {9.3e18, -9.3e18, 0x1p62})),
            (std::vector<int64_t>{INT64_MAX, INT64_MIN, int64_t(1) << 62}));
  EXPECT_EQ((convert<uint64_t, double>("arith.fptoui", "f64", "i64", {1.9e19, 0x1p63})),
            (std::vector<uint64_t>{UINT64_MAX, uint64_t(1) << 63}));
}

TEST(Floats, FromIntegersRoundOnce) {
  // Through f64 the first would become a tie and round to even.
  std::vector<int64_t> hard{(int64_t(1) << 60) + (int64_t(1) << 36) + 1, INT64_MIN, -1, INT64_MAX};
  F32 expected;
  for (int64_t value : hard)
    expected.push_back(float(value));
  expectSame((convert<float, int64_t>("arith.sitofp", "i64", "f32", hard)), expected);
  expectSame((convert<float, uint64_t>("arith.uitofp", "i64", "f32", {~0ull, 3})), {0x1p64f, 3});
  EXPECT_EQ((convert<uint16_t, int32_t>("arith.sitofp", "i32", "f16", {2049, 2051, 100000})),
            (U16{0x6800, 0x6802, 0x7c00}));
}

TEST(Floats, SignsAreBits) {
  EXPECT_EQ(unary<uint16_t>("arith.negf", "f16", {0x3c00, 0x0000, 0x7e01}), (U16{0xbc00, 0x8000, 0xfe01}));
  EXPECT_EQ(unary<uint16_t>("math.absf", "bf16", {0xbf80, 0x8000}), (U16{0x3f80, 0x0000}));
}

TEST(Floats, FunctionsAreRoundedOnce) {
  F32 x;
  for (int i = -400; i < 400; ++i)
    x.push_back(float(i) * 0.173f);
  auto check = [&](const char *op, double (*f)(double)) {
    F32 expected;
    for (float value : x)
      expected.push_back(float(f(value)));
    expectSame(unary(op, "f32", x), expected);
  };
  check("math.exp", std::exp);
  check("math.exp2", std::exp2);
  check("math.log", std::log);
  check("math.log2", std::log2);
  check("math.sin", std::sin);
  check("math.cos", std::cos);
  check("math.sqrt", std::sqrt);
  check("tt.precise_sqrt", std::sqrt);
  check("math.erf", std::erf);
  check("math.tanh", std::tanh);
  check("math.floor", std::floor);
  check("math.ceil", std::ceil);
  check("math.trunc", std::trunc);
  check("math.roundeven", std::nearbyint);
  check("math.rsqrt", [](double value) { return 1 / std::sqrt(value); });
  // f16: exp(1) = 2.71875 (0x4170)
  EXPECT_EQ(unary<uint16_t>("math.exp", "f16", {0x3c00}), (U16{0x4170}));
  // f64: exp(1) correctly rounded
  EXPECT_EQ(unary<double>("math.exp", "f64", {1.0}), (std::vector<double>{0x1.5bf0a8b145769p+1}));
}

TEST(Floats, BitcastAndSelect) {
  EXPECT_EQ((convert<uint32_t, float>("tt.bitcast", "f32", "i32", {1.0f, -0.0f}, " -> ")),
            (std::vector<uint32_t>{0x3f800000, 0x80000000}));
  std::string body = "  %z = arith.constant dense<0.0> : tensor<3xf32>\n"
                     "  %t = arith.cmpf ogt, %a, %z : tensor<3xf32>\n"
                     "  %r = arith.select %t, %a, %z : tensor<3xi1>, tensor<3xf32>";
  expectSame(apply<float>(body, "f32", 3, Buffer<float>{"f32", {-1, 2, nan}}), {0, 2, 0});
  body = "  %t = arith.constant true\n  %r = arith.select %t, %a, %b : tensor<2xf32>";
  expectSame(apply<float>(body, "f32", 2, Buffer<float>{"f32", {1, 2}}, Buffer<float>{"f32", {3, 4}}),
             {1, 2});
}

TEST(Floats, Constants) {
  EXPECT_EQ(apply<int16_t>("  %r = arith.constant dense<[1, -2, 3]> : tensor<3xi16>", "i16", 3),
            (std::vector<int16_t>{1, -2, 3}));
  expectSame(apply<float>("  %r = arith.constant dense<0xFF800000> : tensor<2xf32>", "f32", 2), {-inf, -inf});
  EXPECT_EQ(apply<int8_t>("  %t = arith.constant dense<[true, false]> : tensor<2xi1>\n"
                          "  %r = arith.extui %t : tensor<2xi1> to tensor<2xi8>",
                          "i8", 2),
            (std::vector<int8_t>{1, 0}));
}

} // namespace
