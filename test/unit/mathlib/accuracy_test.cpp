// Every function of the vector math library within the bound that its row of Mathlib.def promises, and with
// the same bits at every width, over a sample of all inputs and all the places where something changes.
#include "Accuracy.h"
#include "Native.h"
#include "mathlib/Mathlib.h"
#include <array>
#include <bit>
#include <gtest/gtest.h>
#include <random>
#include <span>
#include <vector>

namespace tegula::mathlib::test {
namespace {

template <class T> struct Format;
template <> struct Format<float> {
  using Bits = uint32_t;
  using Wide = double;
  static auto batches(const NativeFunction &f) { return std::span(f.f32); }
  static double bound(const NativeFunction &f) { return f.maxUlpF32; }
};
template <> struct Format<double> {
  using Bits = uint64_t;
  using Wide = long double;
  static auto batches(const NativeFunction &f) { return std::span(f.f64); }
  static double bound(const NativeFunction &f) { return f.maxUlpF64; }
};

// Where reductions, branches, overflow and underflow switch.
constexpr double kPlaces[] = {0,
                              1,
                              0.5,
                              2,
                              0.25,
                              0.55,
                              0.9,
                              0.65,
                              2.0 / 3,
                              4.0 / 3,
                              0.7071,
                              1.4142,
                              0.34657,
                              0.69315,
                              1.0397,
                              88.7228,
                              88.3762,
                              87.3365,
                              103.9721,
                              104,
                              128,
                              126,
                              149,
                              150,
                              151,
                              709.7827,
                              708.396,
                              745.133,
                              1024,
                              1022,
                              1074,
                              1075,
                              3.9192,
                              4,
                              5.8636,
                              6,
                              9.0109,
                              10,
                              17.33,
                              19.06,
                              20,
                              0.78540,
                              1.57080,
                              2.35619,
                              3.14159,
                              4.71239,
                              6.28319,
                              131072,
                              65536,
                              1e6,
                              1e9,
                              1e22,
                              1e38,
                              16777216,
                              4503599627370496.0,
                              9007199254740992.0};

template <class T> void addNeighbours(std::vector<T> &inputs, T place, int count) {
  using Bits = typename Format<T>::Bits;
  for (int k = -count; k <= count; ++k)
    inputs.push_back(std::bit_cast<T>(Bits(std::bit_cast<Bits>(place) + Bits(k))));
}

template <class T> std::vector<T> specialInputs(int neighbours) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> inputs = {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(),
                           -Limits::quiet_NaN()};
  for (T place : {T(0), Limits::min(), Limits::denorm_min(), Limits::max()})
    for (T sign : {T(1), T(-1)})
      inputs.push_back(place * sign);
  for (double place : kPlaces)
    for (double sign : {1.0, -1.0})
      if (place != 0)
        addNeighbours(inputs, T(place * sign), neighbours);
  for (T sign : {T(1), T(-1)})
    addNeighbours(inputs, Limits::min() * sign, neighbours);
  return inputs;
}

// A prime stride through the floats; for doubles random bits and random numbers of moderate size.
std::vector<float> sample(float, size_t count) {
  std::vector<float> inputs = specialInputs<float>(400);
  for (uint64_t bits = 0, step = (uint64_t(1) << 32) / count | 1; bits < (uint64_t(1) << 32); bits += step)
    inputs.push_back(std::bit_cast<float>(uint32_t(bits)));
  return inputs;
}

std::vector<double> sample(double, size_t count) {
  std::vector<double> inputs = specialInputs<double>(100);
  std::mt19937_64 random(12345);
  std::uniform_real_distribution<double> exponent(-12, 10), sign(-1, 1);
  for (size_t k = 0; k < count; ++k) {
    inputs.push_back(std::bit_cast<double>(random()));
    inputs.push_back(std::copysign(std::exp2(exponent(random)), sign(random)));
  }
  return inputs;
}

// Pads to a multiple of the widest vector.
template <class T> void pad(std::vector<T> &inputs) {
  while (inputs.size() % 16)
    inputs.push_back(T(1));
}

template <class T> bool sameBits(T a, T b) {
  using Bits = typename Format<T>::Bits;
  return std::bit_cast<Bits>(a) == std::bit_cast<Bits>(b) || (a != a && b != b);
}

template <class T>
void checkFunction(const NativeFunction &function, const std::vector<T> &a, const std::vector<T> &b) {
  auto batches = Format<T>::batches(function);
  auto reference = referenceOf<typename Format<T>::Wide>(function.name);
  ASSERT_NE(reference, nullptr) << "no reference for " << function.name;
  std::vector<T> scalar(a.size()), wide(a.size());
  batches[0](a.data(), b.data(), scalar.data(), a.size());
  double worst = 0;
  size_t where = 0;
  for (size_t k = 0; k < a.size(); ++k) {
    double error = ulpError(scalar[k], reference(a[k], b[k]));
    if (error > worst)
      worst = error, where = k;
  }
  EXPECT_LE(worst, Format<T>::bound(function))
      << function.name << "(" << a[where] << ", " << b[where] << ") gave " << scalar[where];
  testing::Test::RecordProperty(function.name, std::to_string(worst));
  for (size_t width = 1; width < batches.size(); ++width) {
    batches[width](a.data(), b.data(), wide.data(), a.size());
    size_t differ = 0;
    for (size_t k = 0; k < a.size(); ++k)
      differ += !sameBits(scalar[k], wide[k]);
    EXPECT_EQ(differ, 0u) << function.name << " at width number " << width;
  }
}

bool hostCanRun() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

template <class T> void checkUnary(size_t count) {
  if (!hostCanRun())
    GTEST_SKIP() << "the host has no AVX2 and FMA";
  std::vector<T> inputs = sample(T(), count);
  pad(inputs);
  for (int k = 0; k < nativeFunctionCount; ++k)
    if (nativeFunctions[k].arity == 1 && Format<T>::batches(nativeFunctions[k])[0])
      checkFunction<T>(nativeFunctions[k], inputs, inputs);
}

// Pairs: all special values with each other, and a random base with an exponent that keeps the power in
// range.
template <class T> void checkBinary(size_t count) {
  if (!hostCanRun())
    GTEST_SKIP() << "the host has no AVX2 and FMA";
  std::vector<T> places = specialInputs<T>(0), a, b;
  for (double value :
       {3.0, 5.0, 2.5, 1.5, 7.0, 1.0000001, 0.9999999, 8388607.0, 8388608.0, 16777215.0, 1e-40, 1e-310})
    for (double sign : {1.0, -1.0})
      places.push_back(T(value * sign));
  for (T x : places)
    for (T y : places)
      a.push_back(x), b.push_back(y);
  std::mt19937_64 random(99);
  std::uniform_real_distribution<double> share(-1.02, 1.02);
  const double top = std::numeric_limits<T>::max_exponent * 0.6931;
  while (a.size() < count) {
    T x = std::abs(std::bit_cast<T>(typename Format<T>::Bits(random())));
    T near = T(1 + std::ldexp(share(random), -int(random() % 30)));
    for (T base : {x, near}) {
      double scale = std::log(double(base));
      if (!(std::abs(scale) > 0) || !std::isfinite(scale))
        continue;
      a.push_back(base), b.push_back(T(share(random) * top * 1.05 / scale));
    }
  }
  pad(a), pad(b);
  for (int k = 0; k < nativeFunctionCount; ++k)
    if (nativeFunctions[k].arity == 2 && Format<T>::batches(nativeFunctions[k])[0])
      checkFunction<T>(nativeFunctions[k], a, b);
}

TEST(MathlibAccuracy, FloatFunctionsOfOneArgument) { checkUnary<float>(size_t(1) << 22); }
TEST(MathlibAccuracy, DoubleFunctionsOfOneArgument) { checkUnary<double>(size_t(1) << 17); }
TEST(MathlibAccuracy, FloatFunctionsOfTwoArguments) { checkBinary<float>(size_t(1) << 20); }
TEST(MathlibAccuracy, DoubleFunctionsOfTwoArguments) { checkBinary<double>(size_t(1) << 18); }

TEST(MathlibAccuracy, NativeTableIsTheTableOfTheCompiler) {
  ASSERT_EQ(size_t(nativeFunctionCount), functions().size());
  for (int k = 0; k < nativeFunctionCount; ++k) {
    EXPECT_EQ(functions()[k].name, nativeFunctions[k].name);
    EXPECT_EQ(functions()[k].hasF32, nativeFunctions[k].f32[0] != nullptr);
    EXPECT_EQ(functions()[k].hasF64, nativeFunctions[k].f64[0] != nullptr);
  }
}

} // namespace
} // namespace tegula::mathlib::test
