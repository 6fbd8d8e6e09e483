// The approximate operations of PTX: computed in double by the host's library, rounded once to the
// format. Special values and flushing are PTX's. `envelopeOf` has the documented bounds.
#include "ptxvm/float/Float.h"

#include <bit>
#include <cmath>

namespace tegula::ptxvm {
namespace {

double evaluate(Approximate what, double x) {
  switch (what) {
  case Approximate::Ex2: return std::exp2(x);
  case Approximate::Lg2: return x == 0 ? -HUGE_VAL : std::log2(x);
  case Approximate::Sin: return std::sin(x);
  case Approximate::Cos: return std::cos(x);
  case Approximate::Rcp: return 1 / x;
  case Approximate::Rsqrt: return 1 / std::sqrt(x);
  case Approximate::Sqrt: return std::sqrt(x);
  case Approximate::Tanh: return std::tanh(x);
  }
  return 0;
}

double widened(Format format, uint64_t a) {
  return std::bit_cast<double>(convert(Format::F64, format, a, {}));
}

uint64_t narrowed(Format format, double value) {
  return std::isnan(value) ? canonicalNan(format)
                           : convert(format, Format::F64, std::bit_cast<uint64_t>(value), {});
}

// Subnormals of any of the formats become zeros of their sign.
uint64_t flushed(Format format, uint64_t a, bool ftz) {
  if (!ftz || !testp(format, FloatClass::Subnormal, a))
    return a;
  return a & uint64_t(1) << (widthOf(format) - 1);
}

// `.ftz.f64` forms work on the upper half of their operand, where a NaN may be an infinity, and give
// the upper half of the result. Without `.ftz` the operand is whole.
uint64_t approximateDouble(Approximate what, uint64_t a, bool ftz) {
  constexpr uint64_t upper = 0xffffffff00000000;
  if (ftz)
    a = flushed(Format::F64, a & upper, true);
  if (isNan(Format::F64, a))
    return ftz ? 0x7fffffff00000000 : (a & upper) | uint64_t(1) << 51;
  double result = evaluate(what, std::bit_cast<double>(a));
  if (std::isnan(result))
    return canonicalNan(Format::F64);
  return flushed(Format::F64, std::bit_cast<uint64_t>(result) & upper, ftz);
}

} // namespace

uint64_t approximate(Approximate what, Format format, uint64_t a, bool ftz) {
  if (format == Format::F64)
    return approximateDouble(what, a, ftz);
  a = flushed(format, a, ftz);
  if (isNan(format, a))
    return canonicalNan(format);
  return flushed(format, narrowed(format, evaluate(what, widened(format, a))), ftz);
}

uint32_t divideApproximately(uint32_t a, uint32_t b, bool full, bool ftz) {
  a = uint32_t(flushed(Format::F32, a, ftz));
  b = uint32_t(flushed(Format::F32, b, ftz));
  double x = widened(Format::F32, a), y = widened(Format::F32, b);
  if (isNan(Format::F32, a) || isNan(Format::F32, b))
    return 0x7fffffff;
  // div.approx is a * (1 / b), and 1 / b is 0 when b is above 2^126.
  bool reciprocalIsZero = !full && std::fabs(y) > 0x1p126;
  double quotient = reciprocalIsZero ? x * std::copysign(0.0, y) : x / y;
  return uint32_t(flushed(Format::F32, narrowed(Format::F32, quotient), ftz));
}

Envelope envelopeOf(Approximate what, Format format) {
  if (format == Format::F64)
    return {.relative = 0x1p-20};
  bool half = format == Format::F16, brain = format == Format::BF16;
  switch (what) {
  case Approximate::Ex2:
    return half    ? Envelope{.relative = 0x1.2p-10}
           : brain ? Envelope{.relative = 0x1p-7}
                   : Envelope{.ulps = 2};
  case Approximate::Lg2: return {.relative = 0x1p-22, .absolute = 0x1p-22};
  case Approximate::Sin:
  case Approximate::Cos: return {.absolute = 0x1.7p-21};
  case Approximate::Rcp: return {.ulps = 1};
  case Approximate::Rsqrt: return {.ulps = 2};
  case Approximate::Sqrt: return {.ulps = 2};
  case Approximate::Tanh:
    return half    ? Envelope{.absolute = 0x1.1p-11}
           : brain ? Envelope{.relative = 0x1p-8}
                   : Envelope{.relative = 0x1p-11};
  }
  return {};
}

} // namespace tegula::ptxvm
