#include "layout/MatrixAccess.h"
#include "layout/Linear.h"

#include <algorithm>
#include <bit>
#include <map>

namespace tegula::layout {

namespace {

constexpr unsigned rowBytes = 16;

unsigned log2Of(unsigned n) { return unsigned(std::bit_width(n)) - 1; }

// Does every thread find elements of the tile in each register that exists?
bool isWhole(const Layout &layout) {
  uint32_t threads = 0;
  for (Axis axis : {Axis::Lane, Axis::Warp})
    for (uint32_t basis : layout.bases(axis))
      threads |= basis;
  for (unsigned reg : layout.liveRegisters())
    if (!layout.contains(layout.apply(reg, 0, 0) | threads))
      return false;
  return true;
}

} // namespace

SharedMap matrixMap(const std::vector<int64_t> &extents, unsigned fastest, unsigned elementBits,
                    unsigned turn, bool pairs, const SharedShape &shape) {
  Layout tile(extents, {});
  std::vector<uint32_t> images(tile.totalBits(), 0);
  unsigned next = 0, rowStart = 0;
  std::vector<unsigned> others;
  // Pieces of 16 bytes within what all banks hold at once; rows shorter than that fill it several at a time.
  unsigned piece = log2Of(rowBytes * 8 / elementBits),
           all = log2Of(shape.banks * shape.bankBytes * 8 / elementBits);
  unsigned inPanel = std::min(tile.hullBits(fastest), all);
  for (unsigned bit = 0; bit != inPanel; ++bit)
    images[tile.shift(fastest) + bit] = 1u << next++;
  rowStart = next;
  for (unsigned d = tile.rank(); d-- != 0;)
    if (d != fastest)
      for (unsigned bit = 0; bit != tile.hullBits(d); ++bit) {
        others.push_back(tile.shift(d) + bit);
        images[tile.shift(d) + bit] = 1u << next++;
      }
  for (unsigned bit = inPanel; bit != tile.hullBits(fastest); ++bit)
    images[tile.shift(fastest) + bit] = 1u << next++;
  if (pairs && others.size() >= 4) {
    // Bits 0, 2 and 3 tell the rows of a matrix apart: those that no bank bit is of take one that is free.
    std::vector<unsigned> free;
    uint32_t taken = images[others[0]] | images[others[2]] | images[others[3]];
    for (unsigned bit = piece; bit != all; ++bit)
      if (!(taken >> bit & 1))
        free.push_back(bit);
    for (unsigned i = 0; unsigned row : {others[0], others[2], others[3]})
      if (images[row] >> all && i != free.size())
        images[row] |= 1u << free[i++];
    return {images};
  }
  unsigned inRow = rowStart > piece ? rowStart - piece : 0; // bits that tell pieces of a row apart
  unsigned skipped = all - piece - inRow;                   // rows that lie side by side
  for (unsigned i = 0; i != inRow && skipped + i < others.size(); ++i)
    images[others[skipped + i]] |= 1u << (piece + (i + log2Of(turn)) % inRow);
  return {images};
}

unsigned copyWidth(const Layout &layout, const SharedMap &map, unsigned wish) {
  const auto &registers = layout.bases(Axis::Register);
  unsigned bits = 0;
  while (2u << bits <= wish && bits < registers.size() && map.offset(registers[bits]) == 1u << bits)
    ++bits;
  auto isAligned = [&](uint32_t basis) { return (map.offset(basis) & ((1u << bits) - 1)) == 0; };
  auto fits = [&] {
    for (Axis axis : {Axis::Register, Axis::Lane, Axis::Warp})
      for (size_t i = axis == Axis::Register ? bits : 0; i < layout.bases(axis).size(); ++i)
        if (!isAligned(layout.bases(axis)[i]))
          return false;
    return true;
  };
  while (bits && !fits())
    --bits;
  return 1u << bits;
}

std::optional<MatrixAccess> planMatrixAccess(const Layout &layout, const SharedMap &map,
                                             unsigned elementBits) {
  if (elementBits > 32 || layout.bases(Axis::Lane).size() != laneBits || !isWhole(layout))
    return std::nullopt;
  unsigned word = log2Of(32 / elementBits), row = log2Of(rowBytes * 8 / elementBits);
  auto offsets = [&](Axis axis) {
    std::vector<uint32_t> result;
    for (uint32_t basis : layout.bases(axis))
      result.push_back(map.offset(basis));
    return result;
  };
  std::vector<uint32_t> lanes = offsets(Axis::Lane), warps = offsets(Axis::Warp),
                        registers = offsets(Axis::Register);
  uint32_t within = (1u << row) - 1;
  auto startsRow = [&](uint32_t offset) { return (offset & within) == 0; };
  // The first list names the register bits that move within a word.
  std::vector<unsigned> wordBits, otherBits;
  MatrixAccess access;
  std::vector<uint32_t> rows; // what the three bits of a row's number add
  auto straight = [&] {
    for (unsigned bit = 0; bit != word; ++bit) {
      auto found = std::find(registers.begin(), registers.end(), 1u << bit);
      if (found == registers.end())
        return false;
      wordBits.push_back(unsigned(found - registers.begin()));
    }
    if (lanes[0] != 1u << word || lanes[1] != 1u << (word + 1))
      return false;
    rows = {lanes[2], lanes[3], lanes[4]};
    return true;
  };
  // Rows of a matrix are neighbours in pairs, columns are pairs of neighbours.
  auto transposedPairs = [&] {
    auto odd = std::find(registers.begin(), registers.end(), 1u);
    if (elementBits != 8 || registers.size() < 3 || odd == registers.end() || odd - registers.begin() < 2 ||
        lanes[2] != 2 || lanes[3] != 4 || lanes[4] != 8)
      return false;
    wordBits = {unsigned(odd - registers.begin()), 0};
    rows = {registers[0], lanes[0], lanes[1]};
    access.isTransposed = true;
    return registers[0] != 0 && registers[1] != 0;
  };
  auto transposed = [&] {
    if (elementBits != 16 || registers.empty() || lanes[2] != 1 || lanes[3] != 2 || lanes[4] != 4)
      return false;
    // The pair of a word is two rows of the matrix: the lowest register bit that starts a row.
    wordBits = {0};
    rows = {registers[0], lanes[0], lanes[1]};
    access.isTransposed = true;
    return registers[0] != 0;
  };
  if (!straight()) {
    wordBits.clear();
    if (!transposed() && !transposedPairs())
      return std::nullopt;
  }
  for (unsigned bit = 0; bit != registers.size(); ++bit)
    if (std::find(wordBits.begin(), wordBits.end(), bit) == wordBits.end())
      otherBits.push_back(bit);
  for (const auto &side : {rows, warps})
    if (!std::all_of(side.begin(), side.end(), startsRow))
      return std::nullopt;
  for (unsigned bit : otherBits)
    if (!startsRow(registers[bit]))
      return std::nullopt;
  // Up to two register bits that are never dead choose among the matrices of one instruction.
  std::vector<unsigned> matrixBits, pieceBits;
  for (unsigned bit : otherBits) {
    bool isWhole = registers[bit] != 0;
    for (unsigned reg = 0; isWhole && reg != layout.size(Axis::Register); ++reg)
      isWhole = layout.isLive(reg) == layout.isLive(reg ^ 1u << bit);
    (isWhole && matrixBits.size() < 2 ? matrixBits : pieceBits).push_back(bit);
  }
  access.matrices = 1u << matrixBits.size();
  access.laneOffsets = rows;
  for (unsigned bit : matrixBits)
    access.laneOffsets.push_back(registers[bit]);
  access.laneOffsets.resize(laneBits, 0);
  access.warpOffsets = warps;
  auto spread = [](unsigned index, const std::vector<unsigned> &bits) {
    unsigned reg = 0;
    for (unsigned i = 0; i != bits.size(); ++i)
      reg |= (index >> i & 1) << bits[i];
    return reg;
  };
  for (unsigned index = 0; index != 1u << pieceBits.size(); ++index) {
    unsigned first = spread(index, pieceBits);
    if (!layout.isLive(first))
      continue;
    MatrixAccess::Piece piece{map.offset(layout.apply(first, 0, 0)), {}};
    for (unsigned matrix = 0; matrix != access.matrices; ++matrix) {
      std::vector<unsigned> elements;
      for (unsigned element = 0; element != 1u << wordBits.size(); ++element)
        elements.push_back(first | spread(matrix, matrixBits) | spread(element, wordBits));
      piece.registers.push_back(std::move(elements));
    }
    access.pieces.push_back(std::move(piece));
  }
  return access;
}

std::optional<SharedMap> matrixMapFor(const Layout &use, unsigned fastest, unsigned elementBits) {
  SharedMap map = matrixMap(use.extents(), fastest, elementBits);
  std::optional<MatrixAccess> access = planMatrixAccess(use, map, elementBits);
  if (!access)
    return std::nullopt;
  bool pairs = access->isTransposed && elementBits == 8;
  return pairs ? matrixMap(use.extents(), fastest, elementBits, 1, true) : map;
}

unsigned wavefrontsOfTile(const Layout &layout, const SharedMap &map, unsigned elementBits, bool byMatrices) {
  if (byMatrices)
    if (std::optional<MatrixAccess> access = planMatrixAccess(layout, map, elementBits))
      return unsigned(access->pieces.size()) * access->matrices;
  unsigned width = accessWidth(layout, map, elementBits);
  unsigned registers = layout.size(Axis::Register) >> std::popcount(layout.freeBits(Axis::Register));
  return std::max(registers / width, 1u) * wavefronts(layout, map, width, elementBits);
}

} // namespace tegula::layout
