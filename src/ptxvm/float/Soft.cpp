// The formats, unpacking, packing with one rounding, and the exact operations of Soft.h.
#include "ptxvm/float/Soft.h"

#include <algorithm>

namespace tegula::ptxvm::soft {
namespace {

// In the order of Format.
//   exponent, mantissa, bias, largest finite, infinity, NaN, canonical NaN, width, low zeros
constexpr Traits kTraits[] = {
    {5, 10, 15, 0x7bff, true, true, 0x7fff, 16},
    {8, 7, 127, 0x7f7f, true, true, 0x7fff, 16},
    {8, 10, 127, 0x3fbff, true, true, 0x7fffe000, 32, 13},
    {8, 23, 127, 0x7f7fffff, true, true, 0x7fffffff, 32},
    {11, 52, 1023, 0x7fefffffffffffff, true, true, 0xfff8000000000000, 64},
    {4, 3, 7, 0x7e, false, true, 0x7f, 8},
    {5, 2, 15, 0x7b, true, true, 0x7f, 8},
    {2, 3, 1, 0x1f, false, false, 0, 6},
    {3, 2, 3, 0x1f, false, false, 0, 6},
    {2, 1, 1, 0x7, false, false, 0, 4},
    {8, 0, 127, 0xfe, false, true, 0xff, 8},
};

// The magnitude's bits, unbounded above: the carry of a rounding grows into the exponent.
uint64_t roundMagnitude(const Traits &t, const Number &n, Round round) {
  int top = n.exponent + int(bitLength(n.significand)) - 1;
  int field = std::max(top, 1 - t.bias);
  int shift = field - int(t.mantissaBits) - n.exponent;
  uint64_t kept;
  Rest rest = Rest::None;
  if (shift <= 0) {
    kept = uint64_t(n.significand << -shift);
  } else {
    kept = shift > 127 ? 0 : uint64_t(n.significand >> shift);
    rest = shift > 127 ? Rest::BelowHalf : restOf(n.significand, unsigned(shift));
  }
  kept += roundsUp(round, n.negative, kept & 1, rest);
  return (uint64_t(field + t.bias - 1) << t.mantissaBits) + kept;
}

// Below the least normal number when rounded as if exponents had no end: what hardware flushes.
bool isTiny(const Traits &t, const Number &n, Round round) {
  if (n.kind != Kind::Finite)
    return false;
  unsigned length = bitLength(n.significand), wanted = t.mantissaBits + 1;
  int top = n.exponent + int(length) - 1;
  if (length > wanted) {
    uint64_t kept = uint64_t(n.significand >> (length - wanted));
    Rest rest = restOf(n.significand, length - wanted);
    top += kept + roundsUp(round, n.negative, kept & 1, rest) == uint64_t(1) << wanted;
  }
  return top < 1 - t.bias;
}

// What a magnitude above the largest finite number becomes.
uint64_t overflow(const Traits &t, bool negative, FloatMode mode) {
  bool towardsZero = mode.round == Round::Zero || (mode.round == Round::Down && !negative) ||
                     (mode.round == Round::Up && negative);
  if (towardsZero || mode.satfinite || !t.hasInfinity)
    return t.maxFinite;
  return t.maxFinite + 1;
}

// A power of two without a sign: the exponent alone, rounded down or up.
uint64_t packScale(const Number &n, FloatMode mode) {
  if (n.kind == Kind::Nan)
    return 0xff;
  if (n.kind == Kind::Zero)
    return 0;
  if (n.kind == Kind::Infinity)
    return 0xfe;
  int top = n.exponent + int(bitLength(n.significand)) - 1;
  bool isPower = (n.significand & (n.significand - 1)) == 0;
  if (!isPower && mode.round == Round::Up)
    ++top;
  return uint64_t(std::clamp(top + 127, 0, 0xfe));
}

Number nan() { return {.kind = Kind::Nan}; }

Number normalized(Number n) {
  int shift = 125 - (int(bitLength(n.significand)) - 1);
  n.significand <<= shift;
  n.exponent -= shift;
  return n;
}

} // namespace

const Traits &traitsOf(Format format) { return kTraits[unsigned(format)]; }

unsigned bitLength(Wide value) {
  uint64_t high = uint64_t(value >> 64), low = uint64_t(value);
  return high ? 128 - unsigned(__builtin_clzll(high)) : low ? 64 - unsigned(__builtin_clzll(low)) : 0;
}

Wide shiftRightSticky(Wide value, unsigned count) {
  if (count == 0)
    return value;
  if (count > 127)
    return value != 0;
  return value >> count | ((value & ((Wide(1) << count) - 1)) != 0);
}

Rest restOf(Wide value, unsigned count) {
  Wide rest = value & ((Wide(1) << count) - 1), half = Wide(1) << (count - 1);
  return rest == 0 ? Rest::None : rest < half ? Rest::BelowHalf : rest == half ? Rest::Half : Rest::AboveHalf;
}

bool roundsUp(Round round, bool negative, bool keptIsOdd, Rest rest) {
  if (rest == Rest::None)
    return false;
  switch (round) {
  case Round::Nearest: return rest == Rest::AboveHalf || (rest == Rest::Half && keptIsOdd);
  case Round::NearestAway: return rest >= Rest::Half;
  case Round::Zero: return false;
  case Round::Down: return negative;
  case Round::Up: return !negative;
  }
  return false;
}

Number unpack(Format format, uint64_t bits) {
  const Traits &t = traitsOf(format);
  if (format == Format::UE8M0)
    return bits == 0xff ? nan() : Number{Kind::Finite, false, int(bits) - 127, 1};
  bits >>= t.lowZeros;
  uint64_t magnitude = bits & ((uint64_t(1) << (t.exponentBits + t.mantissaBits)) - 1);
  Number n{Kind::Finite, (bits >> (t.exponentBits + t.mantissaBits) & 1) != 0, 0, 0};
  if (magnitude > t.maxFinite) {
    n.kind = t.hasInfinity && magnitude == t.maxFinite + 1 ? Kind::Infinity : Kind::Nan;
    return n;
  }
  uint64_t field = magnitude >> t.mantissaBits, mantissa = magnitude & ((uint64_t(1) << t.mantissaBits) - 1);
  if (magnitude == 0)
    n.kind = Kind::Zero;
  n.significand = field ? mantissa | uint64_t(1) << t.mantissaBits : mantissa;
  n.exponent = int(field ? field : 1) - t.bias - int(t.mantissaBits);
  return n;
}

uint64_t pack(Format format, const Number &n, FloatMode mode) {
  const Traits &t = traitsOf(format);
  if (format == Format::UE8M0)
    return packScale(n, mode);
  if (n.kind == Kind::Nan) {
    if (mode.sat)
      return 0;
    return t.hasNan ? t.nan : t.maxFinite;
  }
  uint64_t magnitude = 0;
  if (n.kind == Kind::Infinity)
    magnitude = t.hasInfinity && !mode.satfinite ? t.maxFinite + 1 : t.maxFinite;
  else if (n.kind == Kind::Finite && n.significand)
    magnitude = roundMagnitude(t, n, mode.round);
  if (n.kind == Kind::Finite && magnitude > t.maxFinite)
    magnitude = overflow(t, n.negative, mode);
  if (mode.ftz && (magnitude >> t.mantissaBits == 0 || isTiny(t, n, mode.round)))
    magnitude = 0;
  bool negative = n.negative;
  if (negative && (mode.relu || mode.sat))
    return 0;
  if (uint64_t one = uint64_t(t.bias) << t.mantissaBits; mode.sat && magnitude > one)
    magnitude = one;
  return (magnitude | uint64_t(negative) << (t.exponentBits + t.mantissaBits)) << t.lowZeros;
}

Number add(const Number &a, const Number &b, Round round) {
  if (a.kind == Kind::Nan || b.kind == Kind::Nan)
    return nan();
  if (a.kind == Kind::Infinity || b.kind == Kind::Infinity) {
    if (a.kind == b.kind && a.negative != b.negative)
      return nan();
    return a.kind == Kind::Infinity ? a : b;
  }
  Number zero{Kind::Zero, round == Round::Down, 0, 0};
  if (a.kind == Kind::Zero && b.kind == Kind::Zero)
    return a.negative == b.negative ? a : zero;
  if (a.kind == Kind::Zero || b.kind == Kind::Zero)
    return a.kind == Kind::Zero ? b : a;
  Number x = normalized(a), y = normalized(b);
  if (x.exponent < y.exponent)
    std::swap(x, y);
  y.significand = shiftRightSticky(y.significand, unsigned(x.exponent - y.exponent));
  if (x.negative == y.negative) {
    x.significand += y.significand;
    return x;
  }
  if (x.significand == y.significand)
    return zero;
  x.negative = x.significand > y.significand ? x.negative : y.negative;
  x.significand =
      x.significand > y.significand ? x.significand - y.significand : y.significand - x.significand;
  return x;
}

Number multiply(const Number &a, const Number &b) {
  if (a.kind == Kind::Nan || b.kind == Kind::Nan)
    return nan();
  bool negative = a.negative != b.negative;
  if (a.kind == Kind::Infinity || b.kind == Kind::Infinity)
    return a.kind == Kind::Zero || b.kind == Kind::Zero ? nan() : Number{Kind::Infinity, negative, 0, 0};
  if (a.kind == Kind::Zero || b.kind == Kind::Zero)
    return {Kind::Zero, negative, 0, 0};
  return {Kind::Finite, negative, a.exponent + b.exponent, a.significand * b.significand};
}

Number divide(const Number &a, const Number &b) {
  if (a.kind == Kind::Nan || b.kind == Kind::Nan)
    return nan();
  bool negative = a.negative != b.negative;
  if (a.kind == b.kind && (a.kind == Kind::Infinity || a.kind == Kind::Zero))
    return nan();
  if (a.kind == Kind::Infinity || b.kind == Kind::Zero)
    return {Kind::Infinity, negative, 0, 0};
  if (a.kind == Kind::Zero || b.kind == Kind::Infinity)
    return {Kind::Zero, negative, 0, 0};
  Number x = normalized(a); // at least 72 bits of quotient: b has at most 53
  Wide quotient = x.significand / b.significand, rest = x.significand % b.significand;
  return {Kind::Finite, negative, x.exponent - b.exponent, quotient | (rest != 0)};
}

Number squareRoot(const Number &a) {
  if (a.kind == Kind::Nan || a.kind == Kind::Zero)
    return a;
  if (a.negative)
    return nan();
  if (a.kind == Kind::Infinity)
    return a;
  Number x = normalized(a);
  if (x.exponent & 1) {
    x.significand <<= 1;
    x.exponent -= 1;
  }
  Wide rest = x.significand, root = 0;
  for (Wide bit = Wide(1) << 126; bit; bit >>= 2) {
    if (rest >= root + bit) {
      rest -= root + bit;
      root = (root >> 1) + bit;
    } else {
      root >>= 1;
    }
  }
  return {Kind::Finite, false, x.exponent / 2, root | (rest != 0)};
}

} // namespace tegula::ptxvm::soft
