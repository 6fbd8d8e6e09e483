// Lanes.h: conversions over the lanes of a warp. A type is one number or two packed ones; each
// number is converted by itself.
#include "ptxvm/float/Lanes.h"

#include <bit>
#include <optional>

namespace tegula::ptxvm {
namespace {

struct Shape {
  std::optional<Format> format; // none: an integer
  bool isPair = false;
  unsigned bits = 0; // of one number
};

std::optional<Shape> shapeOf(Type type) {
  switch (type) {
  case Type::F16: return Shape{Format::F16, false, 16};
  case Type::BF16: return Shape{Format::BF16, false, 16};
  case Type::TF32: return Shape{Format::TF32, false, 32};
  case Type::F32: return Shape{Format::F32, false, 32};
  case Type::F64: return Shape{Format::F64, false, 64};
  case Type::F16x2: return Shape{Format::F16, true, 16};
  case Type::BF16x2: return Shape{Format::BF16, true, 16};
  case Type::E4M3x2: return Shape{Format::E4M3, true, 8};
  case Type::E5M2x2: return Shape{Format::E5M2, true, 8};
  default: break;
  }
  if (isInteger(type))
    return Shape{std::nullopt, false, bitWidth(type)};
  return std::nullopt;
}

uint64_t lowBits(uint64_t value, unsigned bits) {
  return bits == 64 ? value : value & ((uint64_t(1) << bits) - 1);
}

uint64_t oneNumber(const Conversion &c, const Shape &to, const Shape &from, uint64_t a) {
  if (!from.format)
    return ptxvm::fromInteger(*to.format, a, from.bits, isSigned(c.from), c.mode);
  if (!to.format)
    return lowBits(ptxvm::toInteger(*from.format, a, to.bits, isSigned(c.to), c.mode.round, c.mode.ftz),
                   to.bits);
  if (c.integral)
    return ptxvm::roundToIntegral(*to.format,
                                  ptxvm::convert(*to.format, *from.format, a, {.ftz = c.mode.ftz}), c.mode);
  return ptxvm::convert(*to.format, *from.format, a, c.mode);
}

void convertLanes(const Conversion &c, uint32_t mask, uint64_t *d, const uint64_t *a, const uint64_t *b) {
  Shape to = *shapeOf(c.to), from = *shapeOf(c.from);
  for (; mask; mask &= mask - 1) {
    unsigned i = unsigned(std::countr_zero(mask));
    if (!to.isPair) {
      d[i] = oneNumber(c, to, from, lowBits(a[i], from.bits));
      continue;
    }
    uint64_t high = from.isPair ? a[i] >> from.bits : a[i], low = from.isPair ? a[i] : b[i];
    d[i] = oneNumber(c, to, from, lowBits(low, from.bits)) | oneNumber(c, to, from, lowBits(high, from.bits))
                                                                 << to.bits;
  }
}

} // namespace

ConvertFunction convertFunction(const Conversion &conversion) {
  std::optional<Shape> to = shapeOf(conversion.to), from = shapeOf(conversion.from);
  bool hasFloat = to && from && (to->format || from->format);
  if (!hasFloat || (from->isPair && !to->isPair) || (to->isPair && !from->format))
    return nullptr;
  return convertLanes;
}

} // namespace tegula::ptxvm
