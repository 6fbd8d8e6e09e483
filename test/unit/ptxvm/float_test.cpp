// The arithmetic of the PTX machine against the host's IEEE units (in each rounding mode), against
// the compiler's _Float16, and, for the small formats, exhaustively.
#include "ptxvm/float/Float.h"
#include "ptxvm/float/Lanes.h"

#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <random>

using namespace tegula::ptxvm;

namespace {

constexpr Round kRounds[] = {Round::Nearest, Round::Zero, Round::Down, Round::Up};
constexpr int kHostRounds[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};

float f32(uint64_t a) { return std::bit_cast<float>(uint32_t(a)); }
double f64(uint64_t a) { return std::bit_cast<double>(a); }
uint64_t bits(float a) { return std::bit_cast<uint32_t>(a); }
uint64_t bits(double a) { return std::bit_cast<uint64_t>(a); }

uint64_t toF16(float a) { return convert(Format::F16, Format::F32, bits(a), {}); }
float fromF16(uint64_t a) { return f32(convert(Format::F32, Format::F16, a, {})); }

// Bits whose exponents lie near each other, near the ends, and anywhere.
struct Source {
  std::mt19937_64 random{7};
  uint64_t any32() {
    static const uint32_t special[] = {0,          1,          0x007fffff, 0x00800000,
                                       0x3f800000, 0x3f7fffff, 0x7f7fffff, 0x7f800000};
    uint32_t sign = uint32_t(random() & 1) << 31;
    switch (random() % 4) {
    case 0: return special[random() % std::size(special)] | sign;
    case 1: return (uint32_t(random()) & 0x03ffffff) | 0x3e000000 | sign;
    default: return uint32_t(random());
    }
  }
  uint64_t any64() {
    static const uint64_t special[] = {0,
                                       1,
                                       0x000fffffffffffff,
                                       0x0010000000000000,
                                       0x3ff0000000000000,
                                       0x7fefffffffffffff,
                                       0x7ff0000000000000};
    uint64_t sign = (random() & 1) << 63;
    switch (random() % 4) {
    case 0: return special[random() % std::size(special)] | sign;
    case 1: return (random() & 0x007fffffffffffff) | 0x3fc0000000000000 | sign;
    default: return random();
    }
  }
};

bool same(Format format, uint64_t got, uint64_t host) {
  return isNan(format, host) ? isNan(format, got) : got == host;
}

template <class T, class Host> T inRounding(int rounding, Host host) {
  std::fesetround(rounding);
  volatile T result = host();
  std::fesetround(FE_TONEAREST);
  return result;
}

template <class T, class Next, class Value> void compareWithHost(Format format, Next next, Value value) {
  for (int i = 0; i < 60000; ++i) {
    uint64_t a = next(), b = next(), c = next();
    volatile T x = value(a), y = value(b), z = value(c);
    for (int r = 0; r < 4; ++r) {
      FloatMode mode{.round = kRounds[r]};
      int host = kHostRounds[r];
      ASSERT_TRUE(same(format, add(format, a, b, mode), bits(inRounding<T>(host, [&] { return x + y; }))))
          << a << " + " << b << " " << r;
      ASSERT_TRUE(same(format, sub(format, a, b, mode), bits(inRounding<T>(host, [&] { return x - y; }))))
          << a << " - " << b << " " << r;
      ASSERT_TRUE(same(format, mul(format, a, b, mode), bits(inRounding<T>(host, [&] { return x * y; }))))
          << a << " * " << b << " " << r;
      ASSERT_TRUE(same(format, div(format, a, b, mode), bits(inRounding<T>(host, [&] { return x / y; }))))
          << a << " / " << b << " " << r;
      ASSERT_TRUE(
          same(format, sqrt(format, a, mode), bits(inRounding<T>(host, [&] { return std::sqrt(T(x)); }))))
          << a << " " << r;
      ASSERT_TRUE(same(format, fma(format, a, b, c, mode),
                       bits(inRounding<T>(host, [&] { return std::fma(T(x), T(y), T(z)); }))))
          << a << " " << b << " " << c << " " << r;
    }
  }
}

TEST(Float, SingleAgreesWithTheHostInEveryRounding) {
  Source source;
  compareWithHost<float>(Format::F32, [&] { return source.any32(); }, f32);
}

TEST(Float, DoubleAgreesWithTheHostInEveryRounding) {
  Source source;
  compareWithHost<double>(Format::F64, [&] { return source.any64(); }, f64);
}

TEST(Float, HalfArithmeticIsRoundedOnce) {
  std::mt19937 random(3);
  for (int i = 0; i < 300000; ++i) {
    uint64_t a = random() & 0xffff, b = random() & 0xffff;
    double x = fromF16(a), y = fromF16(b); // sums and products of halves are exact in double
    auto rounded = [](double v) { return convert(Format::F16, Format::F64, bits(v), {}); };
    ASSERT_TRUE(same(Format::F16, add(Format::F16, a, b, {}), rounded(x + y))) << a << " " << b;
    ASSERT_TRUE(same(Format::F16, mul(Format::F16, a, b, {}), rounded(x * y))) << a << " " << b;
  }
}

TEST(Float, FusedBfloatIsRoundedOnceWhereADoubleIsNot) {
  // 1 + 2^-8 is a tie of bf16; 2^-100 decides it and is lost in a double.
  EXPECT_EQ(fma(Format::BF16, 0x3b80, 0x3f80, 0x3f80, {}), 0x3f80u);
  uint64_t tie = fma(Format::BF16, 0x3f81, 0x3f81, 0x0d80, {}); // (1 + 2^-7)^2 + 2^-100
  EXPECT_EQ(tie, 0x3f82u);
  EXPECT_EQ(fma(Format::BF16, 0x3f90, 0x3f88, 0x0d80, {}), 0x3f99u); // 1.125 * 1.0625 = 1.1953125
}

TEST(Float, HalfConversionsAgreeWithTheCompiler) {
  for (uint32_t a = 0; a < 0x10000; ++a) {
    float host = float(std::bit_cast<_Float16>(uint16_t(a)));
    uint64_t got = convert(Format::F32, Format::F16, a, {});
    ASSERT_TRUE(same(Format::F32, got, bits(host))) << a;
    ASSERT_EQ(toF16(f32(got)), isNan(Format::F16, a) ? 0x7fff : a);
  }
  std::mt19937 random(5);
  for (int i = 0; i < 500000; ++i) {
    uint32_t a = random();
    uint16_t host = std::bit_cast<uint16_t>(_Float16(f32(a)));
    ASSERT_TRUE(same(Format::F16, convert(Format::F16, Format::F32, a, {}), host)) << a;
  }
}

// Every finite value of a small format is its own image, and every midpoint of two neighbours
// rounds to the even one, a little more to the upper one.
void smallFormat(Format format, uint64_t maxFinite) {
  for (uint64_t a = 0; a <= maxFinite; ++a) {
    double value = f64(convert(Format::F64, format, a, {}));
    ASSERT_EQ(convert(format, Format::F64, bits(value), {}), a);
    if (a == maxFinite)
      break;
    double next = f64(convert(Format::F64, format, a + 1, {})), middle = (value + next) / 2;
    ASSERT_LT(value, next);
    ASSERT_EQ(convert(format, Format::F64, bits(middle), {}), a + (a & 1));
    ASSERT_EQ(convert(format, Format::F64, bits(std::nextafter(middle, double(INFINITY))), {}), a + 1);
    ASSERT_EQ(convert(format, Format::F64, bits(middle), {.round = Round::Zero}), a);
    ASSERT_EQ(convert(format, Format::F64, bits(middle), {.round = Round::Up}), a + 1);
    ASSERT_EQ(convert(format, Format::F64, bits(middle), {.round = Round::NearestAway}), a + 1);
  }
}

TEST(Float, SmallFormatsRoundToTheirNeighbours) {
  smallFormat(Format::E4M3, 0x7e);
  smallFormat(Format::E5M2, 0x7b);
  smallFormat(Format::E2M3, 0x1f);
  smallFormat(Format::E3M2, 0x1f);
  smallFormat(Format::E2M1, 0x7);
  smallFormat(Format::BF16, 0x7f7f);
  smallFormat(Format::F16, 0x7bff);
}

TEST(Float, SmallFormatsHaveTheirLargestNumbers) {
  EXPECT_EQ(f64(convert(Format::F64, Format::E4M3, 0x7e, {})), 448);
  EXPECT_EQ(f64(convert(Format::F64, Format::E5M2, 0x7b, {})), 57344);
  EXPECT_EQ(f64(convert(Format::F64, Format::E2M3, 0x1f, {})), 7.5);
  EXPECT_EQ(f64(convert(Format::F64, Format::E3M2, 0x1f, {})), 28);
  EXPECT_EQ(f64(convert(Format::F64, Format::E2M1, 0x7, {})), 6);
  EXPECT_EQ(f64(convert(Format::F64, Format::UE8M0, 0x80, {})), 2);
}

TEST(Float, SaturationIsFinite) {
  FloatMode finite{.satfinite = true};
  EXPECT_EQ(convert(Format::E4M3, Format::F32, bits(1e9f), finite), 0x7eu);
  EXPECT_EQ(convert(Format::E4M3, Format::F32, bits(-INFINITY), finite), 0xfeu);
  EXPECT_EQ(convert(Format::E5M2, Format::F32, bits(INFINITY), finite), 0x7bu);
  EXPECT_EQ(convert(Format::E5M2, Format::F32, bits(1e9f), {}), 0x7cu);
  EXPECT_EQ(convert(Format::E4M3, Format::F32, bits(NAN), finite), 0x7fu);
  EXPECT_EQ(convert(Format::E2M1, Format::F32, bits(NAN), finite), 0x7u);
  EXPECT_EQ(convert(Format::F16, Format::F32, bits(1e9f), finite), 0x7bffu);
}

TEST(Float, NansAreCanonical) {
  EXPECT_EQ(add(Format::F32, bits(INFINITY), bits(-INFINITY), {}), 0x7fffffffu);
  EXPECT_EQ(mul(Format::F32, 0xffc12345, bits(1.0f), {}), 0x7fffffffu);
  EXPECT_EQ(convert(Format::F16, Format::F32, 0xffc12345, {}), 0x7fffu);
  EXPECT_EQ(convert(Format::BF16, Format::F32, 0xffc12345, {}), 0x7fffu);
  EXPECT_EQ(sqrt(Format::F32, bits(-1.0f), {}), 0x7fffffffu);
}

TEST(Float, FtzFlushesOperandsAndResults) {
  FloatMode ftz{.ftz = true};
  EXPECT_EQ(add(Format::F32, 0x80000001, 0x80000001, ftz), 0x80000000u);
  EXPECT_EQ(mul(Format::F32, bits(0x1p-100f), bits(-0x1p-40f), ftz), 0x80000000u);
  EXPECT_EQ(mul(Format::F32, bits(0x1p-100f), bits(-0x1p-40f), {}), bits(-0x1p-140f));
  EXPECT_EQ(convert(Format::F64, Format::F32, 1, ftz), 0u);
}

// Recorded on an H200.
TEST(Float, FtzFlushesWhatIsTinyBeforeItIsDenormal) {
  EXPECT_EQ(mul(Format::F32, 0xbf7fffff, 0x00800000, {.round = Round::Down, .ftz = true}), 0x80000000u);
  EXPECT_EQ(mul(Format::F32, 0xbf7fffff, 0x00800000, {.round = Round::Down}), 0x80800000u);
  EXPECT_EQ(add(Format::F16, 0x179a, 0x83ff, {.ftz = true}), 0x179au);
}

TEST(Float, SomeConversionsKeepTheNan) {
  EXPECT_EQ(convert(Format::F32, Format::F64, 0xfff0000000000001, {}), 0xffc00000u);
  EXPECT_EQ(convert(Format::F64, Format::F16, 0x7c01, {}), 0x7ff8040000000000u);
  EXPECT_EQ(convert(Format::F32, Format::BF16, 0xff81, {}), 0xff810000u);
  EXPECT_EQ(convert(Format::F32, Format::BF16, 0xff81, {.ftz = true}), 0x7fffffffu);
  EXPECT_EQ(convert(Format::F64, Format::F32, 0xffc00000, {.ftz = true}), 0x7fffffffe0000000u);
  EXPECT_EQ(neg(Format::F32, 0xff800001, false), 0x7fffffffu);
  EXPECT_EQ(abs(Format::F64, 0xfff8000000000000, false), 0xfff8000000000000u);
}

TEST(Float, SatClampsAndKillsNan) {
  FloatMode sat{.sat = true};
  EXPECT_EQ(add(Format::F32, bits(1.0f), bits(1.0f), sat), bits(1.0f));
  EXPECT_EQ(add(Format::F32, bits(-3.0f), bits(1.0f), sat), 0u);
  EXPECT_EQ(add(Format::F32, bits(NAN), bits(1.0f), sat), 0u);
  EXPECT_EQ(add(Format::F16, toF16(2), toF16(1), sat), toF16(1));
  EXPECT_EQ(fma(Format::F16, toF16(2), toF16(-1), toF16(1), {.relu = true}), 0u);
}

TEST(Float, MinimumChoosesAsPtxDoes) {
  uint64_t nan = 0x7fffffff, one = bits(1.0f), two = bits(-2.0f);
  EXPECT_EQ(minimum(Format::F32, nan, one, {}), one);
  EXPECT_EQ(minimum(Format::F32, nan, one, {.nan = true}), nan);
  EXPECT_EQ(minimum(Format::F32, 0, 0x80000000, {}), 0x80000000u);
  EXPECT_EQ(maximum(Format::F32, 0, 0x80000000, {}), 0u);
  EXPECT_EQ(maximum(Format::F32, one, two, {.xorsignAbs = true}), two);
  EXPECT_EQ(minimum(Format::F32, one, two, {.xorsignAbs = true}), bits(-1.0f));
}

TEST(Float, ComparisonsKnowUnordered) {
  uint64_t nan = 0x7fffffff, one = bits(1.0f);
  EXPECT_FALSE(compare(Format::F32, Compare::Ne, nan, one, false));
  EXPECT_TRUE(compare(Format::F32, Compare::Neu, nan, one, false));
  EXPECT_TRUE(compare(Format::F32, Compare::Eq, 0, 0x80000000, false));
  EXPECT_TRUE(compare(Format::F32, Compare::Eq, 1, 0x80000001, true));
  EXPECT_TRUE(compare(Format::F64, Compare::Lt, bits(-2.0), bits(-1.0), false));
}

TEST(Float, IntegersSaturateAndRound) {
  auto toInt = [](float a, Round round, unsigned width, bool isSigned) {
    return int64_t(toInteger(Format::F32, bits(a), width, isSigned, round, false));
  };
  EXPECT_EQ(toInt(2.5f, Round::Nearest, 32, true), 2);
  EXPECT_EQ(toInt(-2.5f, Round::Down, 32, true), -3);
  EXPECT_EQ(toInt(-2.5f, Round::Up, 32, true), -2);
  EXPECT_EQ(toInt(-0.75f, Round::Zero, 32, false), 0);
  EXPECT_EQ(toInt(1e20f, Round::Zero, 32, true), INT32_MAX);
  EXPECT_EQ(toInt(-1e20f, Round::Zero, 64, true), INT64_MIN);
  EXPECT_EQ(toInt(300, Round::Zero, 8, false), 255);
  EXPECT_EQ(toInt(NAN, Round::Zero, 32, true), 0);
  EXPECT_EQ(toInteger(Format::F64, bits(double(NAN)), 32, true, Round::Zero, false),
            uint64_t(int64_t(INT32_MIN)));
}

TEST(Float, FromIntegerAgreesWithTheHost) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 100000; ++i) {
    uint64_t a = random() >> (random() % 64);
    ASSERT_EQ(fromInteger(Format::F32, a, 64, true, {}), bits(float(int64_t(a))));
    ASSERT_EQ(fromInteger(Format::F32, a, 64, false, {}), bits(float(a)));
    ASSERT_EQ(fromInteger(Format::F64, a, 32, true, {}), bits(double(int32_t(a))));
    ASSERT_EQ(int64_t(toInteger(Format::F64, bits(double(int32_t(a))), 32, true, Round::Zero, false)),
              int32_t(a));
  }
}

TEST(Float, RoundsToIntegralValues) {
  for (float a : {-2.5f, -1.5f, -0.3f, 0.5f, 0.7f, 1.5f, 2.5f, 1e30f}) {
    EXPECT_EQ(f32(roundToIntegral(Format::F32, bits(a), {.round = Round::Nearest})), std::nearbyint(a));
    EXPECT_EQ(f32(roundToIntegral(Format::F32, bits(a), {.round = Round::Down})), std::floor(a));
    EXPECT_EQ(f32(roundToIntegral(Format::F32, bits(a), {.round = Round::Up})), std::ceil(a));
    EXPECT_EQ(f32(roundToIntegral(Format::F32, bits(a), {.round = Round::Zero})), std::trunc(a));
  }
  EXPECT_EQ(roundToIntegral(Format::F32, bits(-0.3f), {}), 0x80000000u);
}

TEST(Float, ApproximateOperationsHaveTheirSpecialValues) {
  auto approx = [](Approximate what, float a, bool ftz = false) {
    return f32(approximate(what, Format::F32, bits(a), ftz));
  };
  EXPECT_EQ(approx(Approximate::Ex2, -INFINITY), 0);
  EXPECT_EQ(approx(Approximate::Ex2, 3), 8);
  EXPECT_EQ(approx(Approximate::Lg2, 0), -INFINITY);
  EXPECT_EQ(approx(Approximate::Rcp, -0.0f), -INFINITY);
  EXPECT_EQ(approx(Approximate::Rsqrt, 0.25f), 2);
  EXPECT_EQ(approx(Approximate::Ex2, -140, true), 0);
  EXPECT_EQ(approx(Approximate::Ex2, -140), 0x1p-140f);
  EXPECT_EQ(divideApproximately(uint32_t(bits(1.0f)), uint32_t(bits(0x1.8p126f)), false, false), 0u);
  EXPECT_EQ(approximate(Approximate::Rcp, Format::F64, bits(3.0), true) & 0xffffffff, 0u);
}

TEST(Float, LanesWriteOnlyTheirMask) {
  uint32_t a[32], b[32], d[32];
  for (int i = 0; i < 32; ++i)
    a[i] = uint32_t(bits(float(i))), b[i] = uint32_t(bits(0.5f)), d[i] = 7;
  LaneMode mode;
  floatFunction(FloatOp::Add, Type::F32, mode)(0x0000ffff, d, a, b, nullptr, mode);
  EXPECT_EQ(d[3], bits(3.5f));
  EXPECT_EQ(d[16], 7u);
  EXPECT_EQ(floatFunction(FloatOp::DivFull, Type::F64, mode), nullptr);
  EXPECT_EQ(floatFunction(FloatOp::Sin, Type::F16, mode), nullptr);
}

TEST(Float, PackedLanesAreTwoNumbers) {
  EXPECT_EQ(applyFloat(FloatOp::Add, Type::F16x2, {}, 0x3c004000, 0x3c003c00), 0x40004200u);
  Conversion pack{.to = Type::F16x2, .from = Type::F32, .mode = {}};
  uint64_t high[32] = {bits(1.0f)}, low[32] = {bits(2.0f)}, d[32] = {};
  convertFunction(pack)(pack, 1, d, high, low);
  EXPECT_EQ(d[0], 0x3c004000u);
  Conversion eight{.to = Type::E4M3x2, .from = Type::F16x2, .mode = {.satfinite = true}};
  convertFunction(eight)(eight, 1, d, d, nullptr);
  EXPECT_EQ(d[0], 0x3840u);
}

} // namespace
