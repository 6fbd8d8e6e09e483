// A matrix unit computes each element of D as c + the sum over k of a[k] b[k]. In: the terms of a row and of
// a column, and c. Out: the bits that the unit of an architecture gives.
//
// Floats: products are exact. A block of them and the running sum are aligned to the largest of their
// exponents (those of zeros do not count), cut off some bits below it, and added exactly; the sum is cut
// (f32) or rounded to nearest (f16), and begins the next block. A sum that becomes zero is +0.
//
// How many products a block has and how many bits are kept depends on the unit: the table in
// MatrixSum.cpp. Its row of sm_90 gives every bit that an H200 recorded (test/ptxvm/golden.npz). The
// others are published measurements (Fasi et al. 2021, "Numerical behavior of NVIDIA tensor cores";
// Khattak and Mikaitis 2025, "Accurate models of NVIDIA tensor cores"; Xie et al. 2025, "MMA-Sim"),
// which nothing here pins. Whatever the row, a result is near the exact one: each addend is cut
// `fraction` bits below the unit of the largest, the sum `kept` bits below its own.
//
// f64 is a chain of fused multiply-adds, in the order of k. Integers: exact, modulo 2^32 or clamped.
#pragma once
#include "ptxvm/Types.h"
#include "ptxvm/float/Float.h"

#include <cstdint>
#include <span>

namespace tegula::ptxvm {

struct SumModel {
  uint32_t block = 16; // products of one block
  int fraction = 25;   // bits kept below the unit of the largest exponent
  int kept = 23;       // of the sum, below its leading bit; fewer than 23 on units of eight-bit floats
  // Of eight-bit floats on a GPU whose `mma` has no unit for them: they become f16. The lower two of each
  // register's four elements are multiplied first, the upper two then; c is added at the end, rounded.
  bool asHalves = false;
};
// `arch`: 90 of sm_90. `type`: F16 BF16 TF32 E4M3 E5M2.
SumModel sumModelOf(uint32_t arch, Type type);
// The same of wgmma, which sm_90a alone has: as an H200 recorded (test/ptxvm/products.npz).
SumModel productModelOf(Type type);

// A float of A or B as a matrix unit takes it apart: significand * 2^exponent. The exponent of subnormal
// numbers is the least. Zeros, infinities and NaNs have exponents of their own, so that the sum of two says
// whether one of them is among the factors.
struct MatrixTerm {
  static constexpr int32_t zero = -(1 << 20), special = 1 << 20, infinite = 1 << 22, nan = 1 << 23;
  int32_t significand = 0;
  int32_t exponent = zero;
  bool isFinite() const { return exponent < special; }
  bool isNan() const { return exponent == nan; }
};
MatrixTerm matrixTerm(Type type, uint64_t bits, const SumModel &model);
// Bits of the significand below its unit.
int fractionBits(Type type, const SumModel &model);

// a, b: terms of row and column, in the order of k, at most 32. `c` and the result: f32, or f16 when
// `isHalf`.
uint32_t sumOfProducts(std::span<const MatrixTerm> a, std::span<const MatrixTerm> b, uint32_t c, bool isHalf,
                       const SumModel &model, int fractionOfProducts);

} // namespace tegula::ptxvm
