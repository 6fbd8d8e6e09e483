// Layouts of matrix instructions (Builders.h): in terms of the instruction's own rows and columns first,
// which are the tile's columns and rows where it is swapped.
#include "layout/Builders.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace tegula::layout {

namespace {

// Bits of dimensions as flat coordinates of `extents`; 0 beyond the hull: there the tile repeats.
class Places {
public:
  explicit Places(std::vector<int64_t> extents) : tile_(std::move(extents), {}) {}
  uint32_t at(unsigned dim, unsigned bit) const {
    return bit < tile_.hullBits(dim) ? 1u << (tile_.shift(dim) + bit) : 0;
  }
  unsigned bits(unsigned dim) const { return tile_.hullBits(dim); }
  const std::vector<int64_t> &extents() const { return tile_.extents(); }

private:
  Layout tile_;
};

unsigned log2Of(unsigned n) { return unsigned(std::countr_zero(n)); }

// Bits of neighbours along k in one word of 32 bits.
unsigned bitsOfWord(const MatrixShape &shape) {
  return shape.elementBits >= 32 ? 0 : log2Of(32 / shape.elementBits);
}

// Says which bit of the tile's coordinate is bit `bit` of an instruction's row, of 8 or 16.
unsigned rowBit(const MatrixShape &shape, unsigned bit) { return shape.pairsRows ? (bit + 1) % 4 : bit; }
// The same for its column, of 8.
unsigned columnBit(const MatrixShape &shape, unsigned bit) { return shape.pairsColumns ? bit + 1 : bit; }
// The same for its k.
unsigned depthBit(const MatrixShape &shape, unsigned bit) { return shape.pairsDepth ? (bit + 1) % 3 : bit; }

// The bits of a coordinate that one instruction covers.
uint32_t rowsWithin(const MatrixShape &shape) { return shape.m - 1; }
uint32_t columnsWithin(const MatrixShape &shape) { return (shape.n - 1) << (shape.pairsColumns ? 1 : 0); }

// Holds what the result has of dimension `dim` alone in registers above the instruction, and in warps.
struct Share {
  std::vector<uint32_t> registers, warps; // coordinates along dim
};
Share shareOf(const Layout &result, unsigned dim, uint32_t within) {
  Share share;
  auto along = [&](uint32_t basis) { return (basis & result.dimMask(dim)) >> result.shift(dim); };
  for (uint32_t basis : result.bases(Axis::Register))
    if (along(basis) & ~within)
      share.registers.push_back(along(basis));
  for (uint32_t basis : result.bases(Axis::Warp))
    share.warps.push_back(along(basis));
  return share;
}

} // namespace

Layout matrixResult(std::vector<int64_t> extents, const MatrixShape &shape, unsigned warpsM, unsigned warpsN,
                    unsigned warps) {
  unsigned rank = unsigned(extents.size());
  assert(rank >= 2 && warpsM * warpsN <= warps);
  unsigned rowDim = rank - 2, columnDim = rank - 1;
  if (shape.isSwapped)
    std::swap(rowDim, columnDim);
  Places tile(extents);
  Layout::Bases bases;
  auto &registers = bases[size_t(Axis::Register)];
  auto &lanes = bases[size_t(Axis::Lane)];
  auto &warpBases = bases[size_t(Axis::Warp)];
  unsigned rowBits = log2Of(shape.m), columnBits = log2Of(shape.n);
  auto row = [&](unsigned bit) { return tile.at(rowDim, rowBit(shape, bit)); };
  auto column = [&](unsigned bit) { return tile.at(columnDim, columnBit(shape, bit)); };
  registers.push_back(column(0));
  if (rowBits == 4)
    registers.push_back(row(3));
  lanes = {column(1), column(2), row(0), row(1), row(2)};
  if (shape.pairsColumns)
    registers.push_back(tile.at(columnDim, 0)); // of two instructions
  columnBits += shape.pairsColumns;
  unsigned next[2] = {rank - 2 == rowDim ? rowBits : columnBits, rank - 1 == rowDim ? rowBits : columnBits};
  unsigned end[2] = {tile.bits(rank - 2), tile.bits(rank - 1)}, along[2] = {warpsM, warpsN};
  unsigned rows = rowDim - (rank - 2), columns = 1 - rows;
  if (shape.warps > 1) { // the lowest bits of the rows, the highest of the columns
    for (unsigned bit = 1; bit < along[rows]; bit *= 2)
      warpBases.push_back(tile.at(rowDim, next[rows]++));
    end[columns] -= log2Of(along[columns]);
    for (unsigned bit = end[columns]; bit != tile.bits(columnDim); ++bit)
      warpBases.push_back(tile.at(columnDim, bit));
  } else {
    for (unsigned dim : {0u, 1u})
      for (unsigned bit = 1; bit < along[dim]; bit *= 2)
        warpBases.push_back(tile.at(rank - 2 + dim, next[dim]++));
  }
  for (unsigned dim : {rank - 1, rank - 2})
    for (unsigned bit = next[dim - (rank - 2)]; bit < end[dim - (rank - 2)]; ++bit)
      registers.push_back(tile.at(dim, bit));
  unsigned warpBits = log2Of(warps);
  for (unsigned dim = rank - 2; dim-- != 0;) { // the highest bits of a batch over warps: each has neighbours
    unsigned ofWarps = std::min(tile.bits(dim), warpBits - unsigned(warpBases.size()));
    for (unsigned bit = 0; bit != tile.bits(dim); ++bit)
      (bit < tile.bits(dim) - ofWarps ? registers : warpBases).push_back(tile.at(dim, bit));
  }
  warpBases.resize(warpBits, 0);
  return {std::move(extents), std::move(bases)};
}

Layout matrixOperand(const Layout &result, const MatrixShape &shape, unsigned operand, int64_t k) {
  unsigned rank = result.rank();
  assert(rank >= 2 && operand < 2);
  // The operand's own dimension of the result, and the place where it has K instead of the other.
  unsigned own = operand == 0 ? rank - 2 : rank - 1, inner = operand == 0 ? rank - 1 : rank - 2;
  bool isRows = (operand == 0) != shape.isSwapped; // takes the place of the instruction's a
  auto ownBit = [&](unsigned bit) { return isRows ? rowBit(shape, bit) : columnBit(shape, bit); };
  std::vector<int64_t> extents = result.extents();
  extents[inner] = k;
  Places tile(extents);
  unsigned word = bitsOfWord(shape), kBits = log2Of(shape.k);
  Layout::Bases bases;
  auto &registers = bases[size_t(Axis::Register)];
  for (unsigned bit = 0; bit != word; ++bit)
    registers.push_back(tile.at(inner, bit));
  if (isRows && shape.m == 16)
    registers.push_back(tile.at(own, ownBit(3)));
  for (unsigned bit = word + 2; bit < kBits; ++bit)
    registers.push_back(tile.at(inner, depthBit(shape, bit)));
  bases[size_t(Axis::Lane)] = {tile.at(inner, depthBit(shape, word)),
                               tile.at(inner, depthBit(shape, word + 1)), tile.at(own, ownBit(0)),
                               tile.at(own, ownBit(1)), tile.at(own, ownBit(2))};
  Layout placed(extents, {});
  auto &warps = bases[size_t(Axis::Warp)];
  warps.resize(result.bases(Axis::Warp).size(), 0);
  auto share = [&](unsigned dim, uint32_t within) {
    Share found = shareOf(result, dim, within);
    for (uint32_t coordinate : found.registers)
      registers.push_back(coordinate << placed.shift(dim));
    for (size_t bit = 0; bit != warps.size(); ++bit)
      warps[bit] |= found.warps[bit] << placed.shift(dim);
  };
  share(own, isRows ? rowsWithin(shape) : columnsWithin(shape));
  for (unsigned bit = kBits; bit < tile.bits(inner); ++bit)
    registers.push_back(tile.at(inner, bit));
  for (unsigned dim = rank - 2; dim-- != 0;)
    share(dim, 0);
  return {std::move(extents), std::move(bases)};
}

} // namespace tegula::layout
