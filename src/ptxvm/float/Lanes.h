// Float.h over the lanes of a warp: one function for a form, chosen when an instruction is decoded.
//
// A warp's register is 32 lanes: of uint32_t for formats up to 32 bits (a narrower value sits in
// the low bits, the rest are zero, and results are written so), of uint64_t for f64. Only lanes
// whose bit in `mask` is set are written.
#pragma once
#include "ptxvm/Types.h"
#include "ptxvm/float/Float.h"

#include <cstdint>

namespace tegula::ptxvm {

// All modifiers of an arithmetic instruction; what a form does not allow is never set.
struct LaneMode : FloatMode {
  bool nan = false;        // min, max: .NaN
  bool xorsignAbs = false; // min, max: .xorsign.abs
};

// Sources: one, two, or three (Fma, Min3, Max3); those that an op has not are null.
enum class FloatOp : uint8_t {
  Add,
  Sub,
  Mul,
  Fma,
  Div,
  DivApprox,
  DivFull,
  Min,
  Max,
  Min3,
  Max3,
  Neg,
  Abs,
  CopySign, // CopySign: the sign of a, the magnitude of b
  Rcp,
  RcpApprox,
  Sqrt,
  SqrtApprox,
  Rsqrt /* rsqrt.approx */,
  Ex2,
  Lg2,
  Sin,
  Cos,
  Tanh,
  RcpApproxFtzF64,
  RsqrtApproxFtzF64, // the 20-bit approximations of f64
};
using FloatFunction = void (*)(uint32_t mask, void *d, const void *a, const void *b, const void *c,
                               LaneMode mode);
// `format`: F16 F16x2 BF16 BF16x2 F32 F64. Null where PTX has no such form. `mode` is passed again
// at each call.
FloatFunction floatFunction(FloatOp op, Type format, LaneMode mode);

// setp and set: a lane mask, a subset of `mask`. Of F16x2 and BF16x2 the low half's; the high
// half's goes to `*high`.
uint32_t compareFloats(Compare how, Type format, bool ftz, uint32_t mask, const void *a, const void *b,
                       uint32_t *high);
uint32_t classifyFloats(FloatClass what, Type format, uint32_t mask, const void *a);

// Conversions with a float on at least one side. Lanes are uint64_t on both sides: sources
// zero-extended (signed integers may be sign-extended), results zero-extended from their width.
// `from`, `to`: U8..U64 S8..S64 F16 BF16 TF32 F32 F64 F16x2 BF16x2 E4M3x2 E5M2x2. Packing forms
// (cvt.rn.f16x2.f32 d, a, b) take `a` for the high half and `b` for the low one; others no `b`.
struct Conversion {
  Type to = Type::None, from = Type::None;
  FloatMode mode;
  bool integral = false; // an integer rounding was written, float to float
};
using ConvertFunction = void (*)(const Conversion &conversion, uint32_t mask, uint64_t *d, const uint64_t *a,
                                 const uint64_t *b);
// Null where there is no such conversion.
ConvertFunction convertFunction(const Conversion &conversion);

// One value, for atomics and tests.
uint64_t applyFloat(FloatOp op, Type format, LaneMode mode, uint64_t a, uint64_t b = 0, uint64_t c = 0);

} // namespace tegula::ptxvm
