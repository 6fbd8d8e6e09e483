// The matrix instructions' shapes and fragments: which element of A, B, C and D each register of each
// lane holds. PTX ISA manual, "Matrix Fragments for mma.m8n8k4 with .f64" to "... mma.m16n8k32".
//
// All of them follow one rule. With g = lane / 4, t = lane mod 4 and e elements in 32 (f64: 64) bits,
// register r of A holds row g + 8 (r mod 2), columns e t ... e t + e - 1 plus 4 e (r / 2); where M is 8
// there is no second row and r alone counts. Register r of B holds column g and the same rows plus 4 e r.
// C and D: row g + 8 (r / 2), column 2 t + r mod 2; of f16 a register holds both columns.
#pragma once
#include "ptxvm/exec/DecodedKernel.h"

namespace tegula::ptxvm {

inline constexpr unsigned mostMatrixK = 32;

struct MatrixShape {
  Modifier name;
  uint8_t m, n, k;
  uint8_t elementBits; // of A and B
  uint8_t sumBits;     // of C and D
};

inline constexpr MatrixShape matrixShapes[] = {
    {Modifier::m16n8k8, 16, 8, 8, 16, 32},   {Modifier::m16n8k8, 16, 8, 8, 16, 16},
    {Modifier::m16n8k16, 16, 8, 16, 16, 32}, {Modifier::m16n8k16, 16, 8, 16, 16, 16},
    {Modifier::m16n8k4, 16, 8, 4, 32, 32},   {Modifier::m16n8k8, 16, 8, 8, 32, 32},
    {Modifier::m8n8k16, 8, 8, 16, 8, 32},    {Modifier::m16n8k16, 16, 8, 16, 8, 32},
    {Modifier::m16n8k32, 16, 8, 32, 8, 32},  {Modifier::m8n8k4, 8, 8, 4, 64, 64},
};

// An element of a matrix, and where it sits: `shift` bits up in a register of a lane.
struct FragmentElement {
  uint8_t row, column, reg, lane, shift;
};

constexpr unsigned registerBitsOf(unsigned elementBits) { return elementBits == 64 ? 64 : 32; }

constexpr FragmentElement elementOfA(const MatrixShape &s, unsigned lane, unsigned reg, unsigned i) {
  unsigned e = registerBitsOf(s.elementBits) / s.elementBits, g = lane / 4, t = lane % 4;
  unsigned high = s.m == 16 ? reg % 2 : 0, step = s.m == 16 ? reg / 2 : reg;
  return {uint8_t(g + 8 * high), uint8_t(e * t + i + 4 * e * step), uint8_t(reg), uint8_t(lane),
          uint8_t(i * s.elementBits)};
}
constexpr FragmentElement elementOfB(const MatrixShape &s, unsigned lane, unsigned reg, unsigned i) {
  unsigned e = registerBitsOf(s.elementBits) / s.elementBits, g = lane / 4, t = lane % 4;
  return {uint8_t(e * t + i + 4 * e * reg), uint8_t(g), uint8_t(reg), uint8_t(lane),
          uint8_t(i * s.elementBits)};
}
constexpr FragmentElement elementOfC(const MatrixShape &s, unsigned lane, unsigned reg, unsigned i) {
  unsigned e = registerBitsOf(s.sumBits) / s.sumBits, g = lane / 4, t = lane % 4, at = reg * e + i;
  return {uint8_t(g + 8 * (at / 2)), uint8_t(2 * t + at % 2), uint8_t(reg), uint8_t(lane),
          uint8_t(i * s.sumBits)};
}

// Registers of a lane.
constexpr unsigned registersOfA(const MatrixShape &s) {
  return unsigned(s.m) * s.k * s.elementBits / 32 / registerBitsOf(s.elementBits);
}
constexpr unsigned registersOfB(const MatrixShape &s) {
  return unsigned(s.k) * s.n * s.elementBits / 32 / registerBitsOf(s.elementBits);
}
constexpr unsigned registersOfC(const MatrixShape &s) {
  return unsigned(s.m) * s.n * s.sumBits / 32 / registerBitsOf(s.sumBits);
}

} // namespace tegula::ptxvm
