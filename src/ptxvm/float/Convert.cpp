// Conversions: between formats, to integral values, to and from integers. One rounding each, all
// through Soft.h.
#include "ptxvm/float/Soft.h"

#include <algorithm>
#include <optional>

namespace tegula::ptxvm {
namespace {

using soft::Kind;
using soft::Number;
using soft::Wide;

// The operand, with subnormals of f32 as zeros under `ftz`.
Number operand(Format format, uint64_t a, bool ftz) {
  if (ftz && format == Format::F32 && (a & 0x7f800000) == 0)
    a &= 0x80000000;
  return soft::unpack(format, a);
}

// The bits of a NaN's payload, moved to another format's, quieted, with its sign.
uint64_t movedNan(Format to, Format from, uint64_t a) {
  const soft::Traits &t = soft::traitsOf(to), &f = soft::traitsOf(from);
  uint64_t infinity = t.maxFinite + 1, quiet = uint64_t(1) << (t.mantissaBits - 1);
  uint64_t payload = a & ((uint64_t(1) << f.mantissaBits) - 1);
  payload = t.mantissaBits < f.mantissaBits ? payload >> (f.mantissaBits - t.mantissaBits)
                                            : payload << (t.mantissaBits - f.mantissaBits);
  return (a >> (f.width - 1) & 1) << (t.width - 1) | infinity | quiet | payload;
}

// The conversions in which hardware keeps something of a NaN; the others make the canonical one.
std::optional<uint64_t> keptNan(Format to, Format from, uint64_t a, FloatMode mode) {
  bool isDouble = from == Format::F64 && to != Format::TF32 && soft::traitsOf(to).width >= 16;
  if (mode.sat || mode.relu || mode.satfinite)
    return std::nullopt;
  if (to == from && !mode.ftz && (to == Format::F32 || to == Format::F64))
    return a;     // a move
  if (to == from) // a move, but for f16
    return mode.ftz || to == Format::F16 ? canonicalNan(to) : a;
  if (to == Format::F64 && from == Format::F32 && mode.ftz)
    return movedNan(to, from, canonicalNan(from));
  if (isDouble || to == Format::F64)
    return movedNan(to, from, a);
  if (to == Format::F32 && from == Format::BF16 && !mode.ftz)
    return a << 16;
  if (to == Format::TF32 && mode.round == Round::NearestAway)
    return a & 0xffffe000;
  return std::nullopt;
}

// The magnitude as an integer, rounded. Saturates at 2^126, far above any integer type.
Wide integralMagnitude(const Number &n, Round round) {
  if (n.kind == Kind::Infinity)
    return Wide(1) << 126;
  if (n.kind != Kind::Finite)
    return 0;
  int top = n.exponent + int(soft::bitLength(n.significand));
  if (top > 126)
    return Wide(1) << 126;
  if (n.exponent >= 0)
    return n.significand << n.exponent;
  unsigned shift = unsigned(-n.exponent);
  if (shift > 127)
    return soft::roundsUp(round, n.negative, false, soft::Rest::BelowHalf);
  Wide kept = n.significand >> shift;
  return kept + soft::roundsUp(round, n.negative, kept & 1, soft::restOf(n.significand, shift));
}

} // namespace

uint64_t convert(Format to, Format from, uint64_t a, FloatMode mode) {
  Number n = operand(from, a, mode.ftz);
  if (n.kind == Kind::Nan)
    if (std::optional<uint64_t> kept = keptNan(to, from, a, mode))
      return *kept;
  mode.ftz = mode.ftz && to == Format::F32;
  return soft::pack(to, n, mode);
}

uint64_t roundToIntegral(Format format, uint64_t a, FloatMode mode) {
  Number n = operand(format, a, mode.ftz);
  mode.ftz = false;
  if (n.kind == Kind::Nan && format == Format::F64 && !mode.sat)
    return a | uint64_t(1) << 51;
  if (n.kind != Kind::Finite || n.exponent >= 0)
    return soft::pack(format, n, mode);
  Wide magnitude = integralMagnitude(n, mode.round);
  return soft::pack(format, {magnitude ? Kind::Finite : Kind::Zero, n.negative, 0, magnitude}, mode);
}

uint64_t toInteger(Format from, uint64_t a, unsigned bits, bool isSigned, Round round, bool ftz) {
  Number n = operand(from, a, ftz);
  uint64_t top = uint64_t(1) << (bits - 1);
  if (n.kind == Kind::Nan) {
    if (bits < 64 && from != Format::F64)
      return 0;
    return isSigned ? uint64_t(0) - top : top;
  }
  Wide magnitude = integralMagnitude(n, round);
  if (!isSigned)
    return n.negative ? 0 : uint64_t(std::min<Wide>(magnitude, (Wide(top) << 1) - 1));
  return n.negative ? uint64_t(0) - uint64_t(std::min<Wide>(magnitude, top))
                    : uint64_t(std::min<Wide>(magnitude, top - 1));
}

uint64_t fromInteger(Format to, uint64_t a, unsigned bits, bool isSigned, FloatMode mode) {
  unsigned unused = 64 - bits;
  bool negative = isSigned && int64_t(a << unused) < 0;
  uint64_t value = isSigned ? uint64_t(int64_t(a << unused) >> unused) : a << unused >> unused;
  uint64_t magnitude = negative ? uint64_t(0) - value : value;
  mode.ftz = false;
  return soft::pack(to, {magnitude ? Kind::Finite : Kind::Zero, negative, 0, magnitude}, mode);
}

} // namespace tegula::ptxvm
