// Arithmetic of F16, BF16, F32 and F64. f32 and f64 to nearest go through the host's IEEE units,
// which round once and keep subnormals; everything else through Soft.h.
#include "ptxvm/float/Soft.h"

#include <bit>
#include <cmath>
#include <initializer_list>

namespace tegula::ptxvm {
namespace {

using soft::Kind;
using soft::Number;
using soft::traitsOf;

uint64_t signBit(Format format) { return uint64_t(1) << (widthOf(format) - 1); }

uint64_t flushed(Format format, uint64_t a, bool ftz) {
  if (!ftz)
    return a;
  if (format == Format::F32)
    return (a & 0x7f800000) == 0 ? a & 0x80000000 : a;
  return format == Format::F16 && (a & 0x7c00) == 0 ? a & 0x8000 : a;
}

// The host rounds a result a little below the least normal number up to it; flushing looks before that.
bool mayHaveBeenTiny(float result, FloatMode mode) { return mode.ftz && std::fabs(result) == 0x1p-126f; }

// The NaN that an operation on these operands makes.
uint64_t nanOf(Format format, std::initializer_list<uint64_t> operands, FloatMode mode) {
  if (mode.sat)
    return 0;
  if (format == Format::F64)
    for (uint64_t operand : operands)
      if (isNan(format, operand))
        return operand | uint64_t(1) << 51;
  return canonicalNan(format);
}

// The last step of an operation that the host did.
uint64_t finish(float value, FloatMode mode) {
  if (mode.sat)
    value = value > 0 ? std::fmin(value, 1.0f) : 0;
  if (mode.relu && value < 0)
    value = 0;
  return flushed(Format::F32, std::bit_cast<uint32_t>(value), mode.ftz);
}

uint64_t finish(double value, FloatMode mode) {
  if (mode.sat)
    value = value > 0 ? std::fmin(value, 1.0) : 0;
  return std::bit_cast<uint64_t>(value);
}

float asFloat(uint64_t a) { return std::bit_cast<float>(uint32_t(a)); }
double asDouble(uint64_t a) { return std::bit_cast<double>(a); }

uint64_t packed(Format format, const Number &n, std::initializer_list<uint64_t> operands, FloatMode mode) {
  if (n.kind == Kind::Nan)
    return nanOf(format, operands, mode);
  mode.ftz = mode.ftz && (format == Format::F32 || format == Format::F16);
  return soft::pack(format, n, mode);
}

// `host` on floats or doubles to nearest, else `exact` on Numbers.
template <class Host, class Exact>
uint64_t binary(Format format, uint64_t a, uint64_t b, FloatMode mode, Host host, Exact exact,
                bool prefersA = false) {
  a = flushed(format, a, mode.ftz);
  b = flushed(format, b, mode.ftz);
  uint64_t first = prefersA ? a : b, second = prefersA ? b : a; // of two NaNs
  if (mode.round == Round::Nearest && format == Format::F32) {
    float r = host(asFloat(a), asFloat(b));
    if (!mayHaveBeenTiny(r, mode))
      return std::isnan(r) ? nanOf(format, {first, second}, mode) : finish(r, mode);
  }
  if (mode.round == Round::Nearest && format == Format::F64) {
    double r = host(asDouble(a), asDouble(b));
    return std::isnan(r) ? nanOf(format, {first, second}, mode) : finish(r, mode);
  }
  return packed(format, exact(soft::unpack(format, a), soft::unpack(format, b)), {first, second}, mode);
}

// Unsigned order of magnitudes as an order of numbers; -0 is below +0.
int64_t ordered(Format format, uint64_t a) {
  uint64_t sign = signBit(format), magnitude = a & (sign - 1);
  return a & sign ? -int64_t(magnitude) - 1 : int64_t(magnitude);
}

uint64_t extremum(Format format, uint64_t a, uint64_t b, MinMaxMode mode, bool wantsLess) {
  a = flushed(format, a, mode.ftz);
  b = flushed(format, b, mode.ftz);
  bool aIsNan = isNan(format, a), bIsNan = isNan(format, b);
  if ((aIsNan && bIsNan) || (mode.nan && (aIsNan || bIsNan)))
    return nanOf(format, {b, a}, {});
  uint64_t sign = mode.xorsignAbs ? (a ^ b) & signBit(format) : 0;
  if (mode.xorsignAbs) {
    a &= ~signBit(format);
    b &= ~signBit(format);
  }
  if (aIsNan || bIsNan)
    return (aIsNan ? b : a) | sign;
  bool takesA = (ordered(format, a) < ordered(format, b)) == wantsLess;
  return (takesA ? a : b) | sign;
}

} // namespace

unsigned widthOf(Format format) { return traitsOf(format).width; }
uint64_t canonicalNan(Format format) { return traitsOf(format).nan; }

bool isNan(Format format, uint64_t a) {
  if (format == Format::F32)
    return (a & 0x7fffffff) > 0x7f800000;
  return soft::unpack(format, a).kind == Kind::Nan;
}

uint64_t add(Format format, uint64_t a, uint64_t b, FloatMode mode) {
  return binary(
      format, a, b, mode, [](auto x, auto y) { return x + y; },
      [&](const Number &x, const Number &y) { return soft::add(x, y, mode.round); });
}

uint64_t sub(Format format, uint64_t a, uint64_t b, FloatMode mode) {
  return binary(
      format, a, b, mode, [](auto x, auto y) { return x - y; },
      [&](const Number &x, Number y) {
        y.negative = !y.negative;
        return soft::add(x, y, mode.round);
      });
}

uint64_t mul(Format format, uint64_t a, uint64_t b, FloatMode mode) {
  return binary(
      format, a, b, mode, [](auto x, auto y) { return x * y; },
      [](const Number &x, const Number &y) { return soft::multiply(x, y); });
}

uint64_t div(Format format, uint64_t a, uint64_t b, FloatMode mode) {
  return binary(
      format, a, b, mode, [](auto x, auto y) { return x / y; },
      [](const Number &x, const Number &y) { return soft::divide(x, y); }, true);
}

uint64_t fma(Format format, uint64_t a, uint64_t b, uint64_t c, FloatMode mode) {
  a = flushed(format, a, mode.ftz);
  b = flushed(format, b, mode.ftz);
  c = flushed(format, c, mode.ftz);
  if (mode.round == Round::Nearest && format == Format::F32) {
    float r = std::fma(asFloat(a), asFloat(b), asFloat(c));
    if (!mayHaveBeenTiny(r, mode))
      return std::isnan(r) ? nanOf(format, {b, c, a}, mode) : finish(r, mode);
  }
  if (mode.round == Round::Nearest && format == Format::F64) {
    double r = std::fma(asDouble(a), asDouble(b), asDouble(c));
    return std::isnan(r) ? nanOf(format, {b, c, a}, mode) : finish(r, mode);
  }
  Number product = soft::multiply(soft::unpack(format, a), soft::unpack(format, b));
  return packed(format, soft::add(product, soft::unpack(format, c), mode.round), {b, c, a}, mode);
}

uint64_t rcp(Format format, uint64_t a, FloatMode mode) {
  uint64_t one = uint64_t(traitsOf(format).bias) << traitsOf(format).mantissaBits;
  return div(format, one, a, mode);
}

uint64_t sqrt(Format format, uint64_t a, FloatMode mode) {
  a = flushed(format, a, mode.ftz);
  return packed(format, soft::squareRoot(soft::unpack(format, a)), {a}, mode);
}

// NaN passes as from any operation, its sign too.
uint64_t neg(Format format, uint64_t a, bool ftz) {
  return isNan(format, a) ? nanOf(format, {a}, {}) : flushed(format, a ^ signBit(format), ftz);
}

uint64_t abs(Format format, uint64_t a, bool ftz) {
  return isNan(format, a) ? nanOf(format, {a}, {}) : flushed(format, a & ~signBit(format), ftz);
}

uint64_t copysign(Format format, uint64_t a, uint64_t b) {
  return (b & ~signBit(format)) | (a & signBit(format));
}

uint64_t minimum(Format format, uint64_t a, uint64_t b, MinMaxMode mode) {
  return extremum(format, a, b, mode, true);
}

uint64_t maximum(Format format, uint64_t a, uint64_t b, MinMaxMode mode) {
  return extremum(format, a, b, mode, false);
}

bool compare(Format format, Compare what, uint64_t a, uint64_t b, bool ftz) {
  a = flushed(format, a, ftz);
  b = flushed(format, b, ftz);
  bool unordered = isNan(format, a) || isNan(format, b);
  uint64_t magnitudes = signBit(format) - 1;
  // Zeros of both signs are equal.
  int64_t x = a & magnitudes ? ordered(format, a) : 0, y = b & magnitudes ? ordered(format, b) : 0;
  switch (what) {
  case Compare::Eq: return !unordered && x == y;
  case Compare::Ne: return !unordered && x != y;
  case Compare::Lt: return !unordered && x < y;
  case Compare::Le: return !unordered && x <= y;
  case Compare::Gt: return !unordered && x > y;
  case Compare::Ge: return !unordered && x >= y;
  case Compare::Equ: return unordered || x == y;
  case Compare::Neu: return unordered || x != y;
  case Compare::Ltu: return unordered || x < y;
  case Compare::Leu: return unordered || x <= y;
  case Compare::Gtu: return unordered || x > y;
  case Compare::Geu: return unordered || x >= y;
  case Compare::Num: return !unordered;
  case Compare::Nan: return unordered;
  }
  return false;
}

bool testp(Format format, FloatClass what, uint64_t a) {
  Number n = soft::unpack(format, a);
  uint64_t field = a >> traitsOf(format).mantissaBits & ((uint64_t(1) << traitsOf(format).exponentBits) - 1);
  bool finite = n.kind == Kind::Finite || n.kind == Kind::Zero;
  switch (what) {
  case FloatClass::Finite: return finite;
  case FloatClass::Infinite: return n.kind == Kind::Infinity;
  case FloatClass::Number: return n.kind != Kind::Nan;
  case FloatClass::NotANumber: return n.kind == Kind::Nan;
  // PTX counts zeros as normal.
  case FloatClass::Normal: return n.kind == Kind::Zero || (finite && field != 0);
  case FloatClass::Subnormal: return n.kind == Kind::Finite && field == 0;
  }
  return false;
}

} // namespace tegula::ptxvm
