// The 8-bit floats: what their fields are, and a number as one. The compiler takes constants and arguments
// through here; values of a running kernel are converted by its code.
#pragma once
#include "base/DType.h"

namespace tegula {

struct ByteFloat {
  unsigned mantissa, bias; // bits of the mantissa; what is added to the exponent
  double largest;          // greater numbers, infinity included, become it
  unsigned nan;            // its bits; those of `largest` where there is no NaN
  bool hasNegativeZero;
};

inline bool isByteFloat(DType type) { return isFloat(type) && bitWidth(type) == 8; }
// Is it a byte below sema? LLVM and MLIR have no such type, or no machine here computes with it.
inline bool isFloatInByte(DType type) {
  return type == DType::F8E4B8 || type == DType::F8E5B16 || type == DType::F8E4B15;
}

ByteFloat byteFloatOf(DType type);
// The bits of `value`, rounded once to nearest even.
unsigned byteFloatBits(double value, DType type);

} // namespace tegula
