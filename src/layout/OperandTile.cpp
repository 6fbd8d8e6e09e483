#include "layout/OperandTile.h"

#include <algorithm>
#include <bit>
#include <vector>

namespace tegula::layout {

namespace {

constexpr unsigned rowsOfPattern = 3; // bits
constexpr unsigned leastSwizzle = 32, mostSwizzle = 128;

unsigned log2Of(uint64_t n) { return unsigned(std::bit_width(n)) - 1; }

class Planner {
public:
  Planner(std::span<const uint32_t> rows, std::span<const uint32_t> k, unsigned bytes) {
    for (uint32_t image : rows)
      rows_.push_back(image * bytes);
    for (uint32_t image : k)
      k_.push_back(image * bytes);
    bytes_ = bytes;
  }

  std::optional<OperandTile> straight(unsigned rowBits, unsigned kBits) {
    OperandTile tile;
    unsigned run = runOf(k_, tile);
    if (run < kBits)
      return std::nullopt;
    // Eight rows, then the next eight.
    for (unsigned bit = 0; bit < std::min(rowBits, rowsOfPattern); ++bit)
      if (rows_[bit] != turned(tile.swizzle << bit, tile.swizzle))
        return std::nullopt;
    if (!repeats(rows_, rowsOfPattern, rowBits, tile.stride))
      return std::nullopt;
    return isPlain(rows_, rowBits, tile) && isPlain(k_, run, tile) && isFree(tile.stride, tile)
               ? std::optional(tile)
               : std::nullopt;
  }

  std::optional<OperandTile> transposed(unsigned rowBits, unsigned kBits) {
    OperandTile tile;
    tile.isTransposed = true;
    unsigned run = runOf(rows_, tile);
    if (run == 0 || kBits < rowsOfPattern)
      return std::nullopt;
    for (unsigned bit = 0; bit != rowsOfPattern; ++bit)
      if (k_[bit] != turned(tile.swizzle << bit, tile.swizzle))
        return std::nullopt;
    if (!repeats(k_, rowsOfPattern, kBits, tile.stride) || !repeats(rows_, run, rowBits, tile.leading))
      return std::nullopt;
    return isPlain(rows_, std::max(run, rowBits), tile) && isPlain(k_, kBits, tile) &&
                   isFree(tile.stride, tile) && isFree(tile.leading, tile)
               ? std::optional(tile)
               : std::nullopt;
  }

private:
  // The bits of an address that choose a row of the pattern.
  static uint32_t rowMask(unsigned swizzle) { return (swizzle / 16 - 1) << 7; }
  static uint32_t turned(uint32_t address, unsigned swizzle) {
    return address ^ (address & rowMask(swizzle)) >> 3;
  }

  // The bits that run through a row of a pattern; sets the swizzle. 0: none.
  unsigned runOf(const std::vector<uint32_t> &images, OperandTile &tile) const {
    unsigned run = 0;
    while (run < images.size() && images[run] == bytes_ << run && bytes_ << run < mostSwizzle)
      ++run;
    tile.swizzle = bytes_ << run;
    return tile.swizzle < leastSwizzle ? 0 : run;
  }
  // Bits `from` to `to` are steps of one length.
  static bool repeats(const std::vector<uint32_t> &images, unsigned from, unsigned to, uint32_t &step) {
    if (from >= to)
      return true;
    step = images[from];
    for (unsigned bit = from; bit < to; ++bit)
      if (images[bit] != step << (bit - from))
        return false;
    return true;
  }
  static bool isFree(uint32_t image, const OperandTile &tile) {
    return (image & (tile.alignment() - 1)) == 0;
  }
  // The bits from `from` on start patterns.
  static bool isPlain(const std::vector<uint32_t> &images, unsigned from, const OperandTile &tile) {
    for (size_t bit = from; bit < images.size(); ++bit)
      if (!isFree(images[bit], tile))
        return false;
    return true;
  }

  std::vector<uint32_t> rows_, k_; // bytes
  unsigned bytes_ = 0;
};

} // namespace

std::optional<OperandTile> planOperandTile(std::span<const uint32_t> rowImages,
                                           std::span<const uint32_t> kImages, unsigned rows, unsigned k,
                                           unsigned elementBits) {
  // `rows` may be no power of two: their hull then counts.
  unsigned rowBits = unsigned(std::bit_width(rows - 1)), kBits = log2Of(k);
  if (rowImages.size() < rowBits || kImages.size() < kBits || elementBits % 8)
    return std::nullopt;
  Planner planner(rowImages, kImages, elementBits / 8);
  if (auto tile = planner.straight(rowBits, kBits))
    return tile;
  return elementBits == 16 ? planner.transposed(rowBits, kBits) : std::nullopt;
}

unsigned columnsTogether(const Layout &result, const MatrixShape &shape) {
  unsigned dim = shape.isSwapped ? 0 : 1, columns = unsigned(result.extents()[dim]);
  for (uint32_t basis : result.bases(Axis::Warp))
    if (basis & result.dimMask(dim))
      columns /= 2;
  return columns;
}

std::optional<uint32_t> planOperandHalves(const Layout &tile, const SharedMap &map, bool isTransposed,
                                          unsigned operand, const MatrixShape &shape) {
  bool isRows = (operand == 0) != shape.isSwapped;
  unsigned kDim = (operand == 0) != isTransposed ? 1 : 0;
  if (!isRows || tile.rank() != 2 || tile.extents()[kDim] % (2 * int64_t(shape.k)) ||
      !std::has_single_bit(uint64_t(tile.extents()[kDim])))
    return std::nullopt;
  unsigned highest = tile.shift(kDim) + tile.hullBits(kDim) - 1;
  for (unsigned bit = 0; bit != map.images.size(); ++bit)
    if (bit != highest && (map.images[bit] & map.images[highest]))
      return std::nullopt;
  return map.images[highest];
}

std::optional<OperandTile> planOperandTile(const Layout &tile, const SharedMap &map, bool isTransposed,
                                           unsigned operand, const Layout &result, const MatrixShape &shape) {
  bool isRows = (operand == 0) != shape.isSwapped;
  if (tile.rank() != 2 || (isRows && shape.pairsRows)) // pairs are made in registers
    return std::nullopt;
  auto imagesOf = [&](unsigned dim) {
    return std::span(map.images).subspan(tile.shift(dim), tile.hullBits(dim));
  };
  unsigned rowDim = (operand == 0) != isTransposed ? 0 : 1;
  unsigned rows = isRows ? shape.m * shape.warps : columnsTogether(result, shape);
  auto plan = planOperandTile(imagesOf(rowDim), imagesOf(1 - rowDim), rows, shape.k, shape.elementBits);
  uint64_t slotBytes = (uint64_t(1) << map.images.size()) * shape.elementBits / 8;
  return plan && slotBytes % plan->alignment() == 0 ? plan : std::nullopt;
}

} // namespace tegula::layout
