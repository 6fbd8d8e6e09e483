// ldmatrix, stmatrix, movmatrix: 8 x 8 matrices of 16-bit elements between shared memory and the
// registers of a warp, and between those. Lane 8 i + r gives the address of row r of matrix i, 16 bytes;
// of a matrix each lane holds elements 2 (lane mod 4) and the next of row lane / 4, or with .trans of
// that column. PTX ISA manual, "ldmatrix", "stmatrix", "movmatrix".
#include "ptxvm/exec/LowerAccess.h"
#include "ptxvm/exec/Warp.h"

#include <cstring>

namespace tegula::ptxvm {
namespace {

constexpr unsigned rows = 8, rowBytes = 16;

struct Matrix {
  uint16_t at[rows][rows];
};

// The two elements of a lane, as its register holds them.
uint32_t part(const Matrix &m, unsigned lane, bool isTransposed) {
  unsigned row = lane / 4, column = 2 * (lane % 4);
  return isTransposed ? m.at[column][row] | uint32_t(m.at[column + 1][row]) << 16
                      : m.at[row][column] | uint32_t(m.at[row][column + 1]) << 16;
}
void setPart(Matrix &m, unsigned lane, bool isTransposed, uint32_t value) {
  unsigned row = lane / 4, column = 2 * (lane % 4);
  (isTransposed ? m.at[column][row] : m.at[row][column]) = uint16_t(value);
  (isTransposed ? m.at[column + 1][row] : m.at[row][column + 1]) = uint16_t(value >> 16);
}

// The lanes whose addresses count.
uint32_t addressLanes(const AccessForm &access) {
  return access.size == 4 ? allLanes : (1u << access.size * rows) - 1;
}

// `AccessForm::size` is the number of matrices while lowered; the access itself is of rows. A generic
// address outside of shared memory becomes an offset beyond its end.
AccessForm rowsOf(const AccessForm &access) {
  AccessForm row = access;
  row.size = rowBytes;
  if (row.space == Space::Generic) {
    row.space = Space::Shared;
    row.offset -= sharedWindow;
  }
  return row;
}

void loadMatrix(Warp &w, const Op &op, uint32_t mask) {
  const AccessForm &access = w.block->program().accesses[op.detail];
  std::byte *bytes[warpSize];
  uint32_t kept = resolve(w, op, rowsOf(access), mask & addressLanes(access), nullptr, bytes);
  for (unsigned i = 0; i < access.size; ++i) {
    Matrix matrix{}; // what could not be read reads as zeros
    for (unsigned r = 0; r < rows; ++r)
      if (kept >> (i * rows + r) & 1)
        std::memcpy(matrix.at[r], bytes[i * rows + r], rowBytes);
    if (uint32_t place = access.results[i].place; place != nowhere)
      forLanes(mask, [&](unsigned lane) { w.lanes<uint32_t>(place)[lane] = part(matrix, lane, op.flag); });
  }
}

void storeMatrix(Warp &w, const Op &op, uint32_t mask) {
  const AccessForm &access = w.block->program().accesses[op.detail];
  Matrix matrices[4]{};
  for (unsigned i = 0; i < access.size; ++i)
    for (unsigned lane = 0; lane < warpSize; ++lane)
      setPart(matrices[i], lane, op.flag, w.lanes<uint32_t>(access.sources[i].place)[lane]);
  auto *data = reinterpret_cast<const std::byte *>(matrices); // row after row, as lanes give addresses
  std::byte *bytes[warpSize];
  uint32_t kept = resolve(w, op, rowsOf(access), mask & addressLanes(access), data, bytes);
  forLanes(kept, [&](unsigned lane) { std::memcpy(bytes[lane], data + lane * rowBytes, rowBytes); });
}

void moveMatrix(Warp &w, const Op &op, uint32_t mask) {
  Matrix matrix;
  for (unsigned lane = 0; lane < warpSize; ++lane)
    setPart(matrix, lane, false, w.lanes<uint32_t>(op.a)[lane]);
  forLanes(mask, [&](unsigned lane) { w.lanes<uint32_t>(op.d)[lane] = part(matrix, lane, true); });
}

void lowerAccessOfMatrices(Lowering &l, AccessKind kind, unsigned address, unsigned registers, Handler run) {
  AccessForm access = makeAccess(l, kind, l.operand(address));
  access.size = l.has(Modifier::x4) ? 4 : l.has(Modifier::x2) ? 2 : 1;
  access.count = 1;
  access.byWarp = true;
  fillParts(l, kind == AccessKind::Load ? access.results : access.sources, l.operand(registers), access.size);
  useAccess(l, access, run);
  l.op.flag = l.has(Modifier::trans);
  l.op.control = Control::Aligned;
}

} // namespace

void lowerLoadMatrix(Lowering &l) { lowerAccessOfMatrices(l, AccessKind::Load, 1, 0, loadMatrix); }
void lowerStoreMatrix(Lowering &l) { lowerAccessOfMatrices(l, AccessKind::Store, 0, 1, storeMatrix); }
void lowerMoveMatrix(Lowering &l) {
  l.op.d = l.place(0, Type::B32);
  l.op.a = l.place(1, Type::B32);
  l.op.run = moveMatrix;
  l.op.control = Control::Aligned;
}

} // namespace tegula::ptxvm
