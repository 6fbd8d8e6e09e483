// Layouts of tiles that are made from tiles: bases with bits of the flat coordinate removed, inserted or
// permuted.
#include "layout/Layout.h"
#include "layout/Linear.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace tegula::layout {

template <class Function> static Layout::Bases mapped(Layout::Bases bases, Function function) {
  for (auto &images : bases)
    for (uint32_t &image : images)
      image = function(image);
  return bases;
}

static Layout::Bases keeping(Layout::Bases bases, std::span<const unsigned> registerBits) {
  std::vector<uint32_t> kept;
  for (unsigned bit : registerBits)
    kept.push_back(bases[0][bit]);
  bases[0] = std::move(kept);
  return bases;
}

Layout Layout::narrowed(unsigned dim) const {
  uint32_t below = (1u << shift(dim)) - 1;
  unsigned bits = hullBits(dim);
  auto without = [&](uint32_t flat) { return (flat & below) | (flat >> bits & ~below); };
  std::vector<int64_t> extents = extents_;
  extents[dim] = 1;
  return {std::move(extents), mapped(keeping(bases_, keptRegisterBits(dim)), without)};
}

Layout Layout::sliced(unsigned dim) const {
  Layout narrow = narrowed(dim);
  std::vector<int64_t> extents = extents_;
  extents.erase(extents.begin() + dim);
  return {std::move(extents), narrow.bases_};
}

Layout Layout::unsliced(unsigned axis, int64_t extent) const {
  std::vector<int64_t> extents = extents_;
  extents.insert(extents.begin() + axis, extent);
  Layout with(extents, {}); // for the places of its dimensions
  unsigned at = with.shift(axis), bits = with.hullBits(axis), bit = 0;
  uint32_t below = (1u << at) - 1;
  Bases bases = mapped(bases_, [&](uint32_t flat) { return (flat & below) | (flat & ~below) << bits; });
  for (Axis threads : {Axis::Lane, Axis::Warp})
    for (uint32_t &image : bases[size_t(threads)])
      if (image == 0 && bit != bits)
        image = 1u << (at + bit++);
  while (bit != bits)
    bases[size_t(Axis::Register)].push_back(1u << (at + bit++));
  return {std::move(extents), std::move(bases)};
}

std::vector<unsigned> Layout::keptRegisterBits(unsigned dim) const {
  std::vector<unsigned> result;
  for (unsigned bit = 0; bit != bases(Axis::Register).size(); ++bit)
    if (bases(Axis::Register)[bit] & ~dimMask(dim))
      result.push_back(bit);
  return result;
}

std::optional<Layout> Layout::piece(unsigned dim, unsigned bits) const {
  if (bits > hullBits(dim) || extents_[dim] != hull(dim))
    return std::nullopt;
  unsigned first = shift(dim) + hullBits(dim) - bits;
  uint32_t below = (1u << first) - 1, removed = ((1u << bits) - 1) << first;
  std::vector<unsigned> kept;
  uint32_t found = 0;
  for (unsigned axis = 0; axis != numAxes; ++axis)
    for (unsigned bit = 0; bit != bases_[axis].size(); ++bit) {
      uint32_t image = bases_[axis][bit], of = image & removed;
      if (of && (axis != unsigned(Axis::Register) || image != of || !std::has_single_bit(of) || of & found))
        return std::nullopt;
      found |= of;
      if (axis == unsigned(Axis::Register) && !of)
        kept.push_back(bit);
    }
  if (found != removed)
    return std::nullopt;
  std::vector<int64_t> extents = extents_;
  extents[dim] >>= bits;
  auto without = [&](uint32_t flat) { return (flat & below) | (flat >> bits & ~below); };
  return Layout(std::move(extents), mapped(keeping(bases_, kept), without));
}

Layout Layout::expanded(unsigned axis) const {
  std::vector<int64_t> extents = extents_;
  extents.insert(extents.begin() + axis, 1);
  return {std::move(extents), bases_};
}

Layout Layout::transposed(std::span<const int32_t> order) const {
  assert(order.size() == rank());
  std::vector<int64_t> extents;
  for (int32_t dim : order)
    extents.push_back(extents_[dim]);
  auto permute = [&](uint32_t flat) {
    uint32_t result = 0;
    for (int32_t dim : order)
      result = result << hullBits(dim) | (flat & dimMask(dim)) >> shift(dim);
    return result;
  };
  return {std::move(extents), mapped(bases_, permute)};
}

static bool isPowerOfTwo(int64_t n) { return (n & (n - 1)) == 0; }

// Row-major order and the order of flat coordinates agree over dims [first, last): all but the outermost that
// counts are powers of two.
static bool isDense(std::span<const int64_t> extents) {
  bool outermost = true;
  for (int64_t extent : extents) {
    if (!outermost && !isPowerOfTwo(extent))
      return false;
    outermost &= extent == 1;
  }
  return true;
}

std::optional<Layout> Layout::reshaped(std::vector<int64_t> extents) const {
  // Walk both lists in the least groups of equal products; each group that differs must be dense on both
  // sides.
  size_t i = 0, j = 0;
  while (i != extents_.size() || j != extents.size()) {
    size_t firstI = i, firstJ = j;
    int64_t a = i != extents_.size() ? extents_[i++] : 1, b = j != extents.size() ? extents[j++] : 1;
    while (a != b) {
      if (a < b && i != extents_.size())
        a *= extents_[i++];
      else if (b < a && j != extents.size())
        b *= extents[j++];
      else
        return std::nullopt; // not the same number of elements
    }
    std::span<const int64_t> left(extents_.data() + firstI, i - firstI),
        right(extents.data() + firstJ, j - firstJ);
    if (!isDense(left) || !isDense(right))
      return std::nullopt;
  }
  return Layout(std::move(extents), bases_);
}

Layout Layout::joined() const {
  std::vector<int64_t> extents = extents_;
  extents.push_back(2);
  Bases bases = mapped(bases_, [](uint32_t flat) { return flat << 1; });
  bases[0].insert(bases[0].begin(), 1);
  return {std::move(extents), std::move(bases)};
}

std::optional<std::pair<Layout, unsigned>> Layout::split() const {
  if (rank() == 0 || extents_.back() != 2)
    return std::nullopt;
  std::optional<unsigned> halves;
  for (const auto &images : bases_)
    for (unsigned bit = 0; bit != images.size(); ++bit) {
      if (!(images[bit] & 1))
        continue;
      if (&images != &bases_[0] || images[bit] != 1 || halves)
        return std::nullopt;
      halves = bit;
    }
  if (!halves)
    return std::nullopt;
  std::vector<int64_t> extents(extents_.begin(), extents_.end() - 1);
  Bases bases = mapped(bases_, [](uint32_t flat) { return flat >> 1; });
  bases[0].erase(bases[0].begin() + *halves);
  return std::pair(Layout(std::move(extents), std::move(bases)), *halves);
}

std::vector<unsigned> Layout::nonzeroRegisterBits() const {
  std::vector<unsigned> result;
  for (unsigned bit = 0; bit != bases(Axis::Register).size(); ++bit)
    if (bases(Axis::Register)[bit])
      result.push_back(bit);
  return result;
}

Layout Layout::withoutZeroRegisters() const { return {extents_, keeping(bases_, nonzeroRegisterBits())}; }

Layout Layout::withoutRepeatedRegisters() const {
  uint32_t free = freeBits(Axis::Register);
  std::vector<unsigned> kept;
  for (unsigned bit = 0; bit != bases(Axis::Register).size(); ++bit)
    if (!(free >> bit & 1))
      kept.push_back(bit);
  return {extents_, keeping(bases_, kept)};
}

} // namespace tegula::layout
