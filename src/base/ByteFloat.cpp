#include "base/ByteFloat.h"

#include <algorithm>
#include <cmath>

namespace tegula {

ByteFloat byteFloatOf(DType type) {
  switch (type) {
  case DType::F8E4NV: return {3, 7, 448, 0x7f, true};
  case DType::F8E4B8: return {3, 8, 240, 0x80, false};
  case DType::F8E5B16: return {2, 16, 57344, 0x80, false};
  case DType::F8E4B15: return {3, 15, 1.75, 0x7e, true}; // 1.875 is not written, as upstream
  default: return {2, 15, 57344, 0x7e, true};            // F8E5
  }
}

unsigned byteFloatBits(double value, DType type) {
  const ByteFloat format = byteFloatOf(type);
  const unsigned sign = std::signbit(value) ? 0x80 : 0;
  if (std::isnan(value))
    return format.nan | sign;
  const double magnitude = std::min(std::fabs(value), format.largest);
  // Below the smallest normal number the distance of neighbours no longer shrinks.
  const int exponent = std::max(magnitude > 0 ? std::ilogb(magnitude) : 0, 1 - int(format.bias));
  const bool isZero = magnitude == 0;
  // Its digits as an integer; the implicit one adds 1 to the exponent's field.
  const auto digits = unsigned(std::nearbyint(std::ldexp(magnitude, int(format.mantissa) - exponent)));
  const unsigned code = isZero ? 0 : (unsigned(exponent + int(format.bias) - 1) << format.mantissa) + digits;
  return code == 0 && !format.hasNegativeZero ? 0 : code | sign;
}

} // namespace tegula
