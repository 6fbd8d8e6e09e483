// Measures the functions by hand, for the table of docs/language/math-functions.md:
//   tegula_mathlib_exhaustive [STRIDE [FUNCTION...]]
// Every STRIDE-th float for functions of one float (STRIDE 1, the default: half a minute to two minutes a
// function); random samples, 2^26 / STRIDE, at least 2^16, for doubles and for two arguments. Prints the
// worst error and where.
#include "Accuracy.h"
#include "Native.h"
#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

using namespace tegula::mathlib::test;

namespace {

constexpr size_t kBlock = 4096;

// Remembers the worst place of one function.
template <class T, class Wide> struct Meter {
  const char *name;
  const char *type;
  Reference<Wide> reference;
  void (*batch)(const T *, const T *, T *, size_t);
  std::vector<T> a = std::vector<T>(kBlock), b = std::vector<T>(kBlock), out = std::vector<T>(kBlock);
  double worst = 0;
  T atA = 0, atB = 0, gave = 0;

  void block() {
    batch(a.data(), b.data(), out.data(), kBlock);
    for (size_t i = 0; i < kBlock; ++i) {
      double error = ulpError(out[i], reference(a[i], b[i]));
      if (error > worst)
        worst = error, atA = a[i], atB = b[i], gave = out[i];
    }
  }
  void print() const {
    std::printf("%-6s %s max %.4f ulp at %a %a (gave %a)\n", name, type, worst, double(atA), double(atB),
                double(gave));
    std::fflush(stdout);
  }
};

void everyFloat(Meter<float, double> &meter, uint64_t stride) {
  for (uint64_t bits = 0; bits < (uint64_t(1) << 32);) {
    for (size_t i = 0; i < kBlock; ++i, bits += stride)
      meter.a[i] = std::bit_cast<float>(uint32_t(bits));
    meter.block();
  }
}

// Half of the doubles with any bits, half of moderate size.
void randomDoubles(Meter<double, long double> &meter, uint64_t count) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> exponent(-12, 10), sign(-1, 1);
  for (uint64_t done = 0; done < count; done += kBlock) {
    for (size_t i = 0; i < kBlock; i += 2) {
      meter.a[i] = std::bit_cast<double>(random());
      meter.a[i + 1] = std::copysign(std::exp2(exponent(random)), sign(random));
    }
    meter.block();
  }
}

// Positive bases, any or near 1, with exponents that keep the power just inside and outside the range.
template <class T, class Wide> void randomPairs(Meter<T, Wide> &meter, uint64_t count) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> share(-1.05, 1.05);
  const double top = std::numeric_limits<T>::max_exponent * 0.6931 * 1.08;
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  for (uint64_t done = 0; done < count; done += kBlock) {
    for (size_t i = 0; i < kBlock; ++i) {
      T any = std::abs(std::bit_cast<T>(Bits(random())));
      T near = T(1 + std::ldexp(share(random) * 0.5, -int(random() % 30)));
      meter.a[i] = i % 2 ? any : near;
      double scale = std::log(double(meter.a[i]));
      meter.b[i] = scale == 0 || std::isnan(scale) ? T(share(random)) : T(share(random) * top / scale);
    }
    meter.block();
  }
}

void measure(const NativeFunction &function, uint64_t stride) {
  uint64_t samples = std::max<uint64_t>((uint64_t(1) << 26) / stride, 1 << 16);
  if (function.f32[0]) {
    Meter<float, double> meter{function.name, "f32", referenceOf<double>(function.name), function.f32[2]};
    function.arity == 1 ? everyFloat(meter, stride) : randomPairs(meter, samples);
    meter.print();
  }
  if (function.f64[0]) {
    Meter<double, long double> meter{function.name, "f64", referenceOf<long double>(function.name),
                                     function.f64[2]};
    function.arity == 1 ? randomDoubles(meter, samples) : randomPairs(meter, samples);
    meter.print();
  }
}

} // namespace

int main(int argc, char **argv) {
  uint64_t stride = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
  for (int k = 0; k < nativeFunctionCount; ++k) {
    bool wanted = argc <= 2;
    for (int i = 2; i < argc; ++i)
      wanted |= !std::strcmp(argv[i], nativeFunctions[k].name);
    if (wanted)
      measure(nativeFunctions[k], stride ? stride : 1);
  }
}
