// The floating-point arithmetic of PTX on one lane. In: the bits of operands in the low bits of a
// word, a format, the modifiers of the instruction. Out: the bits of the result.
//
// Exact operations (add ... sqrt, conversions) are rounded once: f32 and f64 to nearest by the
// host's IEEE arithmetic, all else by the exact integer arithmetic of Soft.h. Nothing here changes
// the host's rounding mode or reads its flags. Approximate operations (`ex2.approx` ...) are
// computed in double and rounded to the format; hardware may differ by what `envelopeOf` says, so their
// bits are never a contract.
//
// NaN results are canonical as in PTX: 0x7fffffff (f32), 0x7fff (f16, bf16). f64 keeps the payload of
// a NaN operand, quieted, and makes 0xfff8000000000000 of an invalid operation; conversions from and
// to f64 move the payload. What hardware does beyond the manual is as recorded (test/ptxvm).
// Shares no code with the compiler or the interpreter.
#pragma once
#include <cstdint>

namespace tegula::ptxvm {

enum class Format : uint8_t { F16, BF16, TF32, F32, F64, E4M3, E5M2, E2M3, E3M2, E2M1, UE8M0 };

// .rn .rz .rm .rp, and .rna of tf32; .rni .rzi .rmi .rpi are the same values.
enum class Round : uint8_t { Nearest, Zero, Down, Up, NearestAway };

struct FloatMode {
  Round round = Round::Nearest;
  bool ftz = false;       // of f32: subnormal operands and results become zeros of their sign
  bool sat = false;       // the result is clamped to [0, 1], NaN to +0
  bool relu = false;      // negative results become +0, NaN stays
  bool satfinite = false; // conversions: beyond the largest finite number is that number
};

// Bits of a value of the format; a TF32 is the upper 19 of 32.
unsigned widthOf(Format format);
uint64_t canonicalNan(Format format);
bool isNan(Format format, uint64_t a);

// ---- arithmetic of F16, BF16, F32, F64 ----------------------------------------------------
uint64_t add(Format format, uint64_t a, uint64_t b, FloatMode mode);
uint64_t sub(Format format, uint64_t a, uint64_t b, FloatMode mode);
uint64_t mul(Format format, uint64_t a, uint64_t b, FloatMode mode);
uint64_t fma(Format format, uint64_t a, uint64_t b, uint64_t c, FloatMode mode);
uint64_t div(Format format, uint64_t a, uint64_t b, FloatMode mode);
uint64_t rcp(Format format, uint64_t a, FloatMode mode);
uint64_t sqrt(Format format, uint64_t a, FloatMode mode);

// Sign operations: bits only, but for the flushing of `ftz`.
uint64_t neg(Format format, uint64_t a, bool ftz);
uint64_t abs(Format format, uint64_t a, bool ftz);
// PTX's operand order: the sign of `a`, the magnitude of `b`.
uint64_t copysign(Format format, uint64_t a, uint64_t b);

struct MinMaxMode {
  bool ftz = false;
  bool nan = false;        // .NaN: a NaN operand makes a NaN; without, the other operand
  bool xorsignAbs = false; // .xorsign.abs: of magnitudes, the sign is the xor of the operands' signs
};
// -0 is below +0.
uint64_t minimum(Format format, uint64_t a, uint64_t b, MinMaxMode mode);
uint64_t maximum(Format format, uint64_t a, uint64_t b, MinMaxMode mode);

enum class Compare : uint8_t { Eq, Ne, Lt, Le, Gt, Ge, Equ, Neu, Ltu, Leu, Gtu, Geu, Num, Nan };
bool compare(Format format, Compare what, uint64_t a, uint64_t b, bool ftz);

enum class FloatClass : uint8_t { Finite, Infinite, Number, NotANumber, Normal, Subnormal };
bool testp(Format format, FloatClass what, uint64_t a);

// ---- conversions --------------------------------------------------------------------------
// Between any two formats; rounds where `to` is narrower. `ftz` counts where one side is F32.
// NaN becomes the canonical NaN of `to`, and +max where `to` has none.
uint64_t convert(Format to, Format from, uint64_t a, FloatMode mode);
// cvt.{rni,rzi,rmi,rpi}.f.f: to an integral value of the same format.
uint64_t roundToIntegral(Format format, uint64_t a, FloatMode mode);
// To an integer of 8 to 64 bits, saturated; NaN is 0, or 1 << (bits - 1) from f64 or to 64 bits.
// The result is sign- or zero-extended to 64 bits.
uint64_t toInteger(Format from, uint64_t a, unsigned bits, bool isSigned, Round round, bool ftz);
// From an integer in the low `bits` bits.
uint64_t fromInteger(Format to, uint64_t a, unsigned bits, bool isSigned, FloatMode mode);

// ---- approximate operations ---------------------------------------------------------------
enum class Approximate : uint8_t { Ex2, Lg2, Sin, Cos, Rcp, Rsqrt, Sqrt, Tanh };
// F16, BF16, F32, F64 (rcp and rsqrt).
uint64_t approximate(Approximate what, Format format, uint64_t a, bool ftz);
// div.approx.f32; with `full`, div.full.f32.
uint32_t divideApproximately(uint32_t a, uint32_t b, bool full, bool ftz);

// How far hardware may be from the exact result, as the PTX ISA documents it: within any of the
// bounds that are not 0.
struct Envelope {
  double ulps = 0; // units of the last place of the result
  double relative = 0;
  double absolute = 0; // lg2: near 1; sin, cos: in [-pi, pi]
};
Envelope envelopeOf(Approximate what, Format format);
inline constexpr double kDivApproxUlps = 2;

// ---- packed pairs -------------------------------------------------------------------------
// f16x2 and bf16x2: `f(low)`, `f(high)` of one, two and three registers.
template <class F> uint32_t eachHalf(uint32_t a, F f) {
  return uint32_t(f(a & 0xffff) & 0xffff) | uint32_t(f(a >> 16) & 0xffff) << 16;
}
template <class F> uint32_t eachHalf(uint32_t a, uint32_t b, F f) {
  return uint32_t(f(a & 0xffff, b & 0xffff) & 0xffff) | uint32_t(f(a >> 16, b >> 16) & 0xffff) << 16;
}
template <class F> uint32_t eachHalf(uint32_t a, uint32_t b, uint32_t c, F f) {
  return uint32_t(f(a & 0xffff, b & 0xffff, c & 0xffff) & 0xffff) |
         uint32_t(f(a >> 16, b >> 16, c >> 16) & 0xffff) << 16;
}

} // namespace tegula::ptxvm
