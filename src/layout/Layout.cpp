#include "layout/Layout.h"
#include "layout/Linear.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace tegula::layout {

unsigned bitsOf(int64_t extent) { return extent <= 1 ? 0 : unsigned(std::bit_width(uint64_t(extent - 1))); }

Layout::Layout(std::vector<int64_t> extents, Bases bases)
    : extents_(std::move(extents)), bases_(std::move(bases)) {
  for (int64_t extent : extents_)
    totalBits_ += bitsOf(extent);
  assert(totalBits_ < 32 && "a tile of more than 2^31 elements");
#ifndef NDEBUG
  for (const auto &images : bases_)
    for (uint32_t image : images)
      assert(uint64_t(image) >> totalBits_ == 0 && "an image outside of the hull");
#endif
}

// ---- coordinates ----

unsigned Layout::hullBits(unsigned dim) const { return bitsOf(extents_[dim]); }

unsigned Layout::shift(unsigned dim) const {
  unsigned result = 0;
  for (unsigned d = dim + 1; d < rank(); ++d)
    result += hullBits(d);
  return result;
}

uint32_t Layout::dimMask(unsigned dim) const { return uint32_t(hull(dim) - 1) << shift(dim); }

std::vector<int64_t> Layout::coordinates(uint32_t flat) const {
  std::vector<int64_t> result(rank());
  for (unsigned d = rank(); d-- != 0;) {
    result[d] = flat & uint32_t(hull(d) - 1);
    flat >>= hullBits(d);
  }
  return result;
}

uint32_t Layout::flatten(std::span<const int64_t> coordinates) const {
  uint32_t flat = 0;
  for (unsigned d = 0; d != rank(); ++d)
    flat = flat << hullBits(d) | uint32_t(coordinates[d]);
  return flat;
}

bool Layout::contains(uint32_t flat) const {
  for (unsigned d = rank(); d-- != 0;) {
    if ((flat & uint32_t(hull(d) - 1)) >= uint64_t(extents_[d]))
      return false;
    flat >>= hullBits(d);
  }
  return true;
}

bool Layout::hasPadding() const {
  return std::any_of(extents_.begin(), extents_.end(),
                     [](int64_t e) { return (int64_t(1) << bitsOf(e)) != e; });
}

// ---- the map ----

uint32_t Layout::apply(unsigned reg, unsigned lane, unsigned warp, unsigned block) const {
  return image(bases(Axis::Register), reg) ^ image(bases(Axis::Lane), lane) ^ image(bases(Axis::Warp), warp) ^
         image(bases(Axis::Block), block);
}

bool Layout::isSurjective() const {
  Span span;
  for (const auto &images : bases_)
    for (uint32_t image : images)
      span.insert(image);
  return span.dimension() == totalBits_;
}

uint32_t Layout::freeBits(Axis axis) const {
  Span span;
  for (unsigned before = 0; before != unsigned(axis); ++before)
    for (uint32_t image : bases_[before])
      span.insert(image);
  uint32_t result = 0;
  for (unsigned bit = 0; bit != bases(axis).size(); ++bit)
    if (!span.insert(bases(axis)[bit]))
      result |= 1u << bit;
  return result;
}

bool Layout::isLive(unsigned reg) const {
  if (!hasPadding())
    return true;
  Span threads;
  bool separable = true; // each image moves one dimension only
  for (Axis axis : {Axis::Lane, Axis::Warp, Axis::Block})
    for (uint32_t image : bases(axis)) {
      threads.insert(image);
      unsigned moved = 0;
      for (unsigned d = 0; d != rank(); ++d)
        moved += (image & dimMask(d)) != 0;
      separable &= moved <= 1;
    }
  uint32_t own = image(bases(Axis::Register), reg);
  // The least member of the coset is least in every dimension at once where dimensions do not mix.
  if (separable)
    return contains(threads.reduce(own));
  std::vector<uint32_t> basis = threads.basis();
  for (uint32_t thread = 0; thread != 1u << basis.size(); ++thread)
    if (contains(own ^ image(basis, thread)))
      return true;
  return false;
}

std::vector<unsigned> Layout::liveRegisters() const {
  std::vector<unsigned> result;
  for (unsigned reg = 0; reg != size(Axis::Register); ++reg)
    if (isLive(reg))
      result.push_back(reg);
  return result;
}

unsigned Layout::contiguous(unsigned dim) const {
  const auto &registers = bases(Axis::Register);
  unsigned bits = 0;
  while (bits < std::min<size_t>(registers.size(), hullBits(dim)) &&
         registers[bits] == 1u << (shift(dim) + bits))
    ++bits;
  // No other bit may move a run's start off its alignment.
  uint32_t others = 0;
  for (Axis axis : {Axis::Lane, Axis::Warp, Axis::Block})
    for (uint32_t image : bases(axis))
      others |= image;
  auto aligned = [&](unsigned run) {
    uint32_t all = others;
    for (size_t i = run; i < registers.size(); ++i)
      all |= registers[i];
    return ((all & dimMask(dim)) >> shift(dim) & ((1u << run) - 1)) == 0;
  };
  while (bits != 0 && !aligned(bits))
    --bits;
  return 1u << bits;
}

} // namespace tegula::layout
