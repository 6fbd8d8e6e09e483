// Random layouts for property tests: what builders make, and harsher ones.
#pragma once
#include "layout/Builders.h"
#include "layout/Linear.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace tegula::layout {

class Random {
public:
  explicit Random(unsigned seed) : engine_(seed) {}
  unsigned below(unsigned n) { return unsigned(engine_() % n); }
  bool oneIn(unsigned n) { return below(n) == 0; }

  std::vector<int64_t> extents(unsigned mostBits) {
    static constexpr int64_t odd[] = {3, 5, 48, 80, 96};
    std::vector<int64_t> result;
    unsigned bits = 0;
    for (unsigned rank = 1 + below(3); result.size() != rank;) {
      int64_t extent = oneIn(4) ? odd[below(5)] : int64_t(1) << below(8);
      bool fits = bits + bitsOf(extent) <= mostBits;
      bits += fits ? bitsOf(extent) : 0;
      result.push_back(fits ? extent : 1);
    }
    return result;
  }
  std::vector<unsigned> order(unsigned rank) {
    std::vector<unsigned> result(rank);
    std::iota(result.begin(), result.end(), 0u);
    std::shuffle(result.begin(), result.end(), engine_);
    return result;
  }

  // A surjective layout of the extents with up to two bits of repetition in registers.
  Layout layout(const std::vector<int64_t> &extents, unsigned warps) {
    switch (below(6)) {
    case 0: return coalesced(extents, order(unsigned(extents.size())), 1u << below(4), warps);
    case 1:
      return reduction(extents, below(unsigned(extents.size())), order(unsigned(extents.size())),
                       1u << below(4), warps);
    case 2: return extents.size() >= 2 ? dotBlocked(extents, warps) : coalesced(extents, 4, warps);
    case 3: return oneIn(4) ? replicated(extents, warps) : dealt(extents, warps, false);
    case 4: return dealt(extents, warps, true);
    default: return dealt(extents, warps, false);
    }
  }
  // Bits of the tile dealt to any axis in any order; `mixed` adds images to one another.
  Layout dealt(const std::vector<int64_t> &extents, unsigned warps, bool mixed) {
    Layout empty(extents, {});
    std::vector<uint32_t> units(empty.totalBits());
    for (unsigned bit = 0; bit != units.size(); ++bit)
      units[bit] = 1u << bit;
    std::shuffle(units.begin(), units.end(), engine_);
    if (mixed)
      for (unsigned n = 0; n != 6 && units.size() > 1; ++n) {
        unsigned a = below(unsigned(units.size())), b = below(unsigned(units.size()));
        units[a] ^= a != b ? units[b] : 0;
      }
    unsigned warpBits = unsigned(std::countr_zero(warps));
    Layout::Bases bases;
    for (auto [axis, count] : {std::pair(1u, laneBits), std::pair(2u, warpBits)})
      while (bases[axis].size() != count) {
        bool repeats = units.empty() || oneIn(12);
        uint32_t image = repeats ? repetition(bases, mixed) : units.back();
        if (!repeats)
          units.pop_back();
        bases[axis].push_back(image);
      }
    bases[0] = units;
    while (oneIn(6) && bases[0].size() < 8)
      bases[0].insert(bases[0].begin() + below(unsigned(bases[0].size()) + 1), repetition(bases, mixed));
    return {extents, std::move(bases)};
  }

private:
  uint32_t repetition(const Layout::Bases &bases, bool mixed) {
    const auto &images = bases[1 + below(2)];
    return mixed && !images.empty() && oneIn(2) ? images[below(unsigned(images.size()))] : 0;
  }
  std::mt19937 engine_;
};

} // namespace tegula::layout
