#include "layout/Queries.h"
#include "layout/Linear.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace tegula::layout {

std::vector<Step1D> bitsAlong(const Layout &layout, Axis axis, unsigned dim) {
  std::vector<Step1D> result;
  for (unsigned bit = 0; bit != layout.bases(axis).size(); ++bit)
    if (uint32_t stride = (layout.bases(axis)[bit] & layout.dimMask(dim)) >> layout.shift(dim))
      result.push_back({bit, stride});
  std::sort(result.begin(), result.end(), [](const Step1D &a, const Step1D &b) {
    return std::pair(std::bit_width(a.stride), a.bit) < std::pair(std::bit_width(b.stride), b.bit);
  });
  return result;
}

static std::vector<unsigned> masksAlong(const Layout &layout, Axis axis, unsigned dim) {
  std::vector<unsigned> result;
  for (const Step1D &step : bitsAlong(layout, axis, dim))
    result.push_back(1u << step.bit);
  return result;
}

std::vector<unsigned> registersAlong(const Layout &layout, unsigned dim) {
  return masksAlong(layout, Axis::Register, dim);
}
std::vector<unsigned> lanesAlong(const Layout &layout, unsigned dim) {
  return masksAlong(layout, Axis::Lane, dim);
}
std::vector<unsigned> warpsAlong(const Layout &layout, unsigned dim) {
  return masksAlong(layout, Axis::Warp, dim);
}

int64_t runOfWarp(const Layout &layout, unsigned dim, unsigned width) {
  unsigned run = std::min(width, layout.contiguous(dim));
  if (run < layout.contiguous(dim) && run > 1)
    return run; // lanes continue behind the next runs
  int64_t stride = 1, reach = run;
  for (unsigned d = dim + 1; d < layout.rank(); ++d)
    stride *= layout.hull(d);
  for (uint32_t basis : layout.bases(Axis::Lane))
    if (int64_t(basis) == reach * stride)
      reach *= 2;
  return reach;
}

unsigned fastestOf(const Layout &layout) {
  auto run = [&](unsigned d) {
    return std::pair(layout.contiguous(d), runOfWarp(layout, d, layout.contiguous(d)));
  };
  unsigned fastest = layout.rank() - 1;
  for (unsigned d = layout.rank(); d-- != 0;)
    if (run(d) > run(fastest))
      fastest = d;
  return fastest;
}

unsigned registersInside(const Layout &layout, std::span<const int64_t> groups) {
  unsigned mask = 0;
  for (unsigned bit = 0; bit != layout.bases(Axis::Register).size(); ++bit) {
    std::vector<int64_t> moved = layout.coordinates(layout.bases(Axis::Register)[bit]);
    bool isInside = true;
    for (unsigned d = 0; d != layout.rank(); ++d)
      isInside &= moved[d] < groups[d];
    mask |= isInside ? 1u << bit : 0;
  }
  return mask;
}

unsigned registersBehind(const Layout &layout) {
  uint32_t once = 0, again = 0; // bits of coordinates that one basis moves, that several do
  for (const auto &images : layout.allBases())
    for (uint32_t image : images) {
      again |= once & image;
      once |= image;
    }
  unsigned mask = 0;
  const auto &registers = layout.bases(Axis::Register);
  for (unsigned bit = 0; bit != registers.size(); ++bit)
    mask |= registers[bit] != 0 && !(registers[bit] & again) ? 1u << bit : 0;
  return mask;
}

bool axisInWarp(const Layout &layout, unsigned dim) {
  return bitsAlong(layout, Axis::Warp, dim).empty() && bitsAlong(layout, Axis::Block, dim).empty();
}

bool axisInThread(const Layout &layout, unsigned dim) {
  return axisInWarp(layout, dim) && bitsAlong(layout, Axis::Lane, dim).empty();
}

bool isOrdered(const Layout &layout, unsigned dim) {
  uint32_t seen = 0, mask = layout.dimMask(dim);
  for (const auto &images : layout.allBases())
    for (uint32_t image : images) {
      if (!(image & mask))
        continue;
      if (!std::has_single_bit(image) || (seen & image))
        return false;
      seen |= image;
    }
  return true;
}

std::vector<std::vector<unsigned>> registerLines(const Layout &layout, unsigned dim) {
  assert(isOrdered(layout, dim));
  // Bits of the result's registers first, then the bits along the dimension by significance.
  std::vector<unsigned> kept = layout.keptRegisterBits(dim), along = registersAlong(layout, dim);
  std::vector<std::vector<unsigned>> lines(size_t(1) << kept.size());
  for (uint32_t line = 0; line != lines.size(); ++line) {
    uint32_t own = 0;
    for (size_t i = 0; i != kept.size(); ++i)
      own |= (line >> i & 1) << kept[i];
    for (uint32_t at = 0; at != 1u << along.size(); ++at)
      lines[line].push_back(own | image(along, at));
  }
  return lines;
}

} // namespace tegula::layout
