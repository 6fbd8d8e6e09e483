// mma: a warp multiplies two matrices that lie spread over its registers (MatrixShapes.h) and adds a
// third. PTX ISA manual, "mma". The arithmetic is in float/MatrixSum.h.
#include "ptxvm/exec/Lower.h"
#include "ptxvm/exec/MatrixShapes.h"
#include "ptxvm/exec/Warp.h"
#include "ptxvm/float/MatrixSum.h"

#include <algorithm>
#include <climits>
#include <cstring>

namespace tegula::ptxvm {
namespace {

enum Slot : unsigned { OfD, OfA, OfB, OfC }; // of Instruction::types

// The elements of A by row and of B by column, read with `read(type, bits)`.
template <class T> struct Operands {
  T a[16][mostMatrixK], b[8][mostMatrixK];

  template <class Read> Operands(Warp &w, const MatrixOp &m, Type typeOfA, Type typeOfB, Read read) {
    const MatrixShape &s = *m.shape;
    unsigned perRegister = registerBitsOf(s.elementBits) / s.elementBits;
    for (unsigned lane = 0; lane < warpSize; ++lane) {
      for (unsigned reg = 0; reg < registersOfA(s); ++reg) {
        uint64_t value = readLane(w, m.a[reg], s.elementBits == 64, lane);
        for (unsigned i = 0; i < perRegister; ++i) {
          FragmentElement at = elementOfA(s, lane, reg, i);
          a[at.row][at.column] = read(typeOfA, cut(value >> at.shift, s.elementBits));
        }
      }
      for (unsigned reg = 0; reg < registersOfB(s); ++reg) {
        uint64_t value = readLane(w, m.b[reg], s.elementBits == 64, lane);
        for (unsigned i = 0; i < perRegister; ++i) {
          FragmentElement at = elementOfB(s, lane, reg, i);
          b[at.column][at.row] = read(typeOfB, cut(value >> at.shift, s.elementBits));
        }
      }
    }
  }

  static uint64_t cut(uint64_t value, unsigned bits) {
    return bits == 64 ? value : value & ((uint64_t(1) << bits) - 1);
  }
};

// D of each lane: `sum(row, column, c)`. Written at the end: D's registers may be those of A, B or C.
template <class Sum> void writeSums(Warp &w, const MatrixOp &m, uint32_t mask, Sum sum) {
  const MatrixShape &s = *m.shape;
  bool isWide = s.sumBits == 64;
  unsigned perRegister = registerBitsOf(s.sumBits) / s.sumBits;
  uint64_t results[4][warpSize];
  for (unsigned lane = 0; lane < warpSize; ++lane)
    for (unsigned reg = 0; reg < registersOfC(s); ++reg) {
      uint64_t value = readLane(w, m.c[reg], isWide, lane), result = 0;
      for (unsigned i = 0; i < perRegister; ++i) {
        FragmentElement at = elementOfC(s, lane, reg, i);
        uint64_t c = Operands<int>::cut(value >> at.shift, s.sumBits);
        result |= uint64_t(sum(at.row, at.column, c)) << at.shift;
      }
      results[reg][lane] = result;
    }
  for (unsigned reg = 0; reg < registersOfC(s); ++reg)
    if (m.d[reg] != nowhere)
      forLanes(mask, [&](unsigned lane) { writeLane(w, m.d[reg], isWide, lane, results[reg][lane]); });
}

const Instruction &instructionOf(Warp &w, const Op &op) {
  return w.block->program().kernel->instructions[op.instruction];
}

void multiplyFloats(Warp &w, const Op &op, uint32_t mask) {
  const MatrixOp &m = w.block->program().matrices[op.detail];
  const auto &types = instructionOf(w, op).types;
  SumModel model = sumModelOf(w.block->program().kernel->module->arch, types[OfA]);
  Operands<MatrixTerm> operands(w, m, types[OfA], types[OfB],
                                [&](Type type, uint64_t bits) { return matrixTerm(type, bits, model); });
  int fraction = fractionBits(types[OfA], model) + fractionBits(types[OfB], model);
  size_t k = m.shape->k;
  writeSums(w, m, mask, [&](unsigned row, unsigned column, uint64_t c) {
    return sumOfProducts({operands.a[row], k}, {operands.b[column], k}, uint32_t(c), m.shape->sumBits == 16,
                         model, fraction);
  });
}

void multiplyIntegers(Warp &w, const Op &op, uint32_t mask) {
  const MatrixOp &m = w.block->program().matrices[op.detail];
  const auto &types = instructionOf(w, op).types;
  Operands<int32_t> operands(w, m, types[OfA], types[OfB], [](Type type, uint64_t bits) {
    return type == Type::S8 ? int32_t(int8_t(bits)) : int32_t(bits);
  });
  unsigned k = m.shape->k;
  writeSums(w, m, mask, [&](unsigned row, unsigned column, uint64_t c) {
    int64_t sum = int32_t(c);
    for (unsigned i = 0; i < k; ++i)
      sum += operands.a[row][i] * operands.b[column][i];
    return uint32_t(op.flag ? std::clamp<int64_t>(sum, INT_MIN, INT_MAX) : sum);
  });
}

void multiplyDoubles(Warp &w, const Op &op, uint32_t mask) {
  const MatrixOp &m = w.block->program().matrices[op.detail];
  Operands<uint64_t> operands(w, m, Type::F64, Type::F64, [](Type, uint64_t bits) { return bits; });
  writeSums(w, m, mask, [&](unsigned row, unsigned column, uint64_t c) {
    for (unsigned k = 0; k < m.shape->k; ++k)
      c = fma(Format::F64, operands.a[row][k], operands.b[column][k], c, {});
    return c;
  });
}

const MatrixShape *shapeOf(const Lowering &l) {
  for (const MatrixShape &shape : matrixShapes) {
    unsigned bits = l.type(OfA) == Type::TF32 ? 32 : bitWidth(l.type(OfA));
    if (l.has(shape.name) && shape.elementBits == bits && shape.sumBits == bitWidth(l.type(OfC)))
      return &shape;
  }
  return nullptr;
}

void placeFragment(Lowering &l, std::array<uint32_t, 4> &places, unsigned operand, Type type) {
  const Operand &vector = l.operand(operand);
  for (unsigned i = 0; i < vector.count; ++i)
    places[i] = l.place(l.kernel().parts[vector.first + i], type);
}

} // namespace

void lowerMma(Lowering &l) {
  MatrixOp m;
  m.shape = shapeOf(l);
  if (!m.shape) {
    l.error = "this machine has no such matrices";
    return;
  }
  Type elements = m.shape->elementBits == 64 ? Type::B64 : Type::B32;
  Type sums = m.shape->sumBits == 64 ? Type::B64 : Type::B32;
  placeFragment(l, m.d, OfD, sums);
  placeFragment(l, m.a, OfA, elements);
  placeFragment(l, m.b, OfB, elements);
  placeFragment(l, m.c, OfC, sums);
  l.op.flag = l.has(Modifier::satfinite);
  l.op.run = isInteger(l.type(OfA))     ? multiplyIntegers
             : l.type(OfA) == Type::F64 ? multiplyDoubles
                                        : multiplyFloats;
  l.op.control = Control::Aligned;
  l.op.detail = uint32_t(l.program.matrices.size());
  l.program.matrices.push_back(m);
}

} // namespace tegula::ptxvm
