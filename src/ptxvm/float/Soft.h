// Exact numbers of any binary format and their one rounding. A Number is sign * significand *
// 2^exponent; operations on Numbers keep all bits, or so many that the rest, or-ed into the lowest
// bit ("sticky"), cannot change a rounding. `pack` rounds a Number to a format.
#pragma once
#include "ptxvm/float/Float.h"

namespace tegula::ptxvm::soft {

using Wide = unsigned __int128;

struct Traits {
  unsigned exponentBits, mantissaBits;
  int bias;
  uint64_t maxFinite; // bits, without the sign
  bool hasInfinity;
  bool hasNan;
  uint64_t nan;          // canonical
  unsigned width;        // with the sign
  unsigned lowZeros = 0; // of the container (tf32)
};
const Traits &traitsOf(Format format);

enum class Kind : uint8_t { Zero, Finite, Infinity, Nan };

struct Number {
  Kind kind = Kind::Zero;
  bool negative = false;
  int exponent = 0;
  Wide significand = 0; // below 2^127
};

Number unpack(Format format, uint64_t bits);
uint64_t pack(Format format, const Number &number, FloatMode mode);

// Both finite or zero operands of any kind but NaN; an invalid operation gives Kind::Nan.
Number add(const Number &a, const Number &b, Round round);
Number multiply(const Number &a, const Number &b);
Number divide(const Number &a, const Number &b);
Number squareRoot(const Number &a);

unsigned bitLength(Wide value);
// Shifts right and keeps in the lowest bit whether something was lost.
Wide shiftRightSticky(Wide value, unsigned count);
// Does the magnitude grow? `kept` is what there was before rounding, and what was cut off is `below`, `half`
// or `above`.
enum class Rest : uint8_t { None, BelowHalf, Half, AboveHalf };
bool roundsUp(Round round, bool negative, bool keptIsOdd, Rest rest);
Rest restOf(Wide value, unsigned count);

} // namespace tegula::ptxvm::soft
