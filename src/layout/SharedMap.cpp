// Makes a map. Offsets are coordinates in a basis of the flat space: the first basis vectors are the
// vector of an access (reached by registers), the next fill up the row (all banks once), the others choose
// the row. An access is free of conflicts where its lanes are independent modulo the row vectors. So a lane
// vector of the side that did not choose the row is paired with a row vector s: s + l becomes a row chooser,
// and l lands in the bank of s.
//
// The vector's bits must not depend on the thread, or an access would not be aligned: all threads of a side
// that uses them lie in the span of the other basis vectors.
#include "layout/SharedMap.h"
#include "layout/Candidates.h"
#include "layout/Linear.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace tegula::layout {

uint32_t SharedMap::offset(uint32_t flat) const { return image(images, flat); }
bool SharedMap::isInjective() const { return Span(images).dimension() == images.size(); }

SharedMap linearMap(unsigned totalBits) {
  SharedMap map;
  for (unsigned bit = 0; bit != totalBits; ++bit)
    map.images.push_back(1u << bit);
  return map;
}

namespace {
unsigned log2Of(unsigned n) { return unsigned(std::bit_width(n)) - 1; }

// log2 of counts of elements.
struct Sizes {
  unsigned word, row, vector;
  Sizes(unsigned elementBits, const SharedShape &shape)
      : word(log2Of(std::max(1u, shape.bankBytes * 8 / elementBits))),
        row(log2Of(shape.banks * shape.bankBytes * 8 / elementBits)),
        vector(log2Of(std::max(1u, shape.maxAccessBytes * 8 / elementBits))) {}
  // Bits of the lanes that run together when each moves 2^width elements.
  unsigned lanes(unsigned width) const { return std::min(laneBits, row - width); }
};

std::vector<uint32_t> threads(const Layout &layout) {
  std::vector<uint32_t> result = layout.bases(Axis::Lane);
  const auto &warps = layout.bases(Axis::Warp);
  result.insert(result.end(), warps.begin(), warps.end());
  return result;
}

class MapBuilder {
public:
  MapBuilder(const Layout &wide, const Layout &narrow, const Sizes &sizes, std::span<const uint32_t> space)
      : wide_(wide), narrow_(narrow), sizes_(sizes), space_(space) {}

  // None where the wide side has no vector of 2^width elements.
  std::optional<SharedMap> build(unsigned width, unsigned totalBits) {
    if (!chooseVector(width))
      return std::nullopt;
    std::vector<uint32_t> wideLanes = lanesOf(wide_, width), narrowLanes = lanesOf(narrow_, common_);
    fillWord(wideLanes, narrowLanes);
    for (uint32_t lane : wideLanes)
      if (row_.size() < sizes_.row)
        addToRow(lane);
    for (uint32_t lane : narrowLanes)
      placeNarrow(lane);
    for (const auto &rest : {threads(wide_), threads(narrow_), {space_.begin(), space_.end()}})
      for (uint32_t v : rest)
        if (all_.insert(v))
          (row_.size() < sizes_.row ? row_ : choosers_).push_back(v);
    std::vector<uint32_t> basis = row_;
    std::sort(choosers_.begin(), choosers_.end(),
              [](uint32_t a, uint32_t b) { return std::bit_width(a) < std::bit_width(b); });
    basis.insert(basis.end(), choosers_.begin(), choosers_.end());
    for (uint32_t v : completion(basis, totalBits))
      basis.push_back(v);
    return SharedMap{*inverse(basis)};
  }

private:
  std::vector<uint32_t> lanesOf(const Layout &layout, unsigned width) const {
    std::vector<uint32_t> lanes = layout.bases(Axis::Lane);
    std::erase(lanes, 0u); // lanes that read the same may be served together with those behind them
    lanes.resize(std::min<size_t>(lanes.size(), sizes_.lanes(width)));
    return lanes;
  }

  // The vector: what both sides have in registers first, then what the wide side has.
  bool chooseVector(unsigned width) {
    std::vector<uint32_t> own = intersection(wide_.bases(Axis::Register), space_);
    std::vector<uint32_t> both = intersection(own, narrow_.bases(Axis::Register));
    Span bothSpan(both), ownSpan(own), threadsOfBoth(threads(wide_)), threadsOfWide(threads(wide_));
    for (uint32_t v : threads(narrow_))
      threadsOfBoth.insert(v);
    // Plain register images before sums of them, so that registers of a vector lie side by side.
    std::vector<uint32_t> order = wide_.bases(Axis::Register);
    order.insert(order.end(), both.begin(), both.end());
    order.insert(order.end(), own.begin(), own.end());
    for (uint32_t v : order)
      if (row_.size() < width && bothSpan.contains(v) && threadsOfBoth.insert(v)) {
        threadsOfWide.insert(v);
        row_.push_back(v);
      }
    common_ = unsigned(row_.size());
    for (uint32_t v : order)
      if (row_.size() < width && ownSpan.contains(v) && threadsOfWide.insert(v))
        row_.push_back(v);
    for (uint32_t v : row_)
      all_.insert(v);
    vector_ = row_;
    for (uint32_t v : threads(wide_))
      zone_.insert(v);
    decided_ = Span(vector_);
    for (uint32_t v : threads(wide_))
      decided_.insert(v);
    return row_.size() == width;
  }

  void addToRow(uint32_t v) {
    if (!all_.insert(v))
      return;
    row_.push_back(v);
    zone_.insert(v);
    decided_.insert(v);
  }

  // Elements that share a word do not conflict only if they share the row too: lanes of both sides, or else
  // something that is a lane of neither.
  void fillWord(std::span<const uint32_t> wideLanes, std::span<const uint32_t> narrowLanes) {
    for (uint32_t v : intersection(wideLanes, narrowLanes))
      if (row_.size() < sizes_.word)
        addToRow(v);
    Span lanes(threads(wide_));
    for (uint32_t v : vector_)
      lanes.insert(v);
    for (uint32_t v : threads(narrow_))
      lanes.insert(v);
    for (uint32_t v : space_)
      if (row_.size() < sizes_.word && lanes.insert(v))
        addToRow(v);
  }

  void placeNarrow(uint32_t lane) {
    if (all_.contains(lane))
      return;
    if (row_.size() < sizes_.row && (zone_.contains(lane) || !decided_.contains(lane))) {
      addToRow(lane);
      return;
    }
    uint32_t chooser = lane ^ partner(lane);
    if (!all_.insert(chooser))
      return;
    choosers_.push_back(chooser);
    zone_.insert(chooser);
  }

  // A row vector whose bank the narrow lane may take: no narrow lane itself, not taken, and one of the vector
  // only if the wide threads do not reach the lane.
  uint32_t partner(uint32_t lane) {
    Span narrow(narrow_.bases(Axis::Lane));
    bool free = decided_.insert(lane);
    if (free)
      for (size_t i = std::max(common_, sizes_.word); i < vector_.size(); ++i)
        if (takePartner(vector_[i], narrow))
          return vector_[i];
    for (size_t i = std::max<size_t>(vector_.size(), sizes_.word); i < row_.size(); ++i)
      if (takePartner(row_[i], narrow))
        return row_[i];
    return 0;
  }
  bool takePartner(uint32_t v, const Span &narrow) {
    if (narrow.contains(v) || std::find(taken_.begin(), taken_.end(), v) != taken_.end())
      return false;
    taken_.push_back(v);
    return true;
  }

  const Layout &wide_, &narrow_;
  const Sizes &sizes_;
  std::span<const uint32_t> space_;
  std::vector<uint32_t> vector_, row_, choosers_, taken_;
  Span all_;            // of the basis so far
  Span zone_;           // of the basis without the vector, and the wide side's threads
  Span decided_;        // of both: the parts along the vector of what lies in here are given
  unsigned common_ = 0; // vectors at the front of vector_ that both sides have
};

uint64_t traffic(unsigned registerBits, unsigned widthBits, unsigned wavefronts) {
  // An access costs its instruction too.
  return (uint64_t(1) << (registerBits - widthBits)) * (4 * wavefronts + 1);
}

uint64_t traffic(const Layout &layout, const SharedMap &map, unsigned elementBits, const SharedShape &shape) {
  unsigned width = accessWidth(layout, map, elementBits, shape);
  return traffic(Span(layout.bases(Axis::Register)).dimension(), log2Of(width),
                 wavefronts(layout, map, width, elementBits, shape));
}

// The widest accesses without conflicts.
uint64_t leastTraffic(const Layout &layout, const Sizes &sizes) {
  unsigned registerBits = Span(layout.bases(Axis::Register)).dimension();
  unsigned width = std::min(registerBits, sizes.vector);
  return traffic(registerBits, width, 1u << (laneBits - sizes.lanes(width)));
}
} // namespace

Layout storingPart(const Layout &layout) {
  Layout::Bases bases = layout.allBases();
  for (Axis axis : {Axis::Register, Axis::Lane, Axis::Warp, Axis::Block})
    for (unsigned bit = 0; bit != bases[size_t(axis)].size(); ++bit)
      if (layout.freeBits(axis) >> bit & 1)
        bases[size_t(axis)][bit] = 0;
  return {layout.extents(), std::move(bases)};
}

SharedMap bestMap(const Layout &store, const Layout &load, unsigned elementBits, const SharedShape &shape,
                  std::span<const uint32_t> space) {
  Sizes sizes(elementBits, shape);
  std::optional<SharedMap> best;
  uint64_t least = ~uint64_t(0), bound = leastTraffic(store, sizes) + leastTraffic(load, sizes);
  for (bool storeIsWide : {true, false})
    for (unsigned width = sizes.vector + 1; width-- != 0 && least != bound;) {
      MapBuilder builder(storeIsWide ? store : load, storeIsWide ? load : store, sizes, space);
      std::optional<SharedMap> map = builder.build(width, store.totalBits());
      if (!map)
        continue;
      uint64_t cost = traffic(store, *map, elementBits, shape) + traffic(load, *map, elementBits, shape);
      if (cost < least) {
        least = cost;
        best = std::move(map);
      }
    }
  return *best; // width 0 always works
}

SharedMap swizzled(const Layout &store, const Layout &load, unsigned elementBits, const SharedShape &shape) {
  assert(store.extents() == load.extents());
  std::vector<uint32_t> whole = linearMap(store.totalBits()).images;
  return bestMap(storingPart(store), load, std::max(8u, elementBits), shape, whole);
}

unsigned accessWidth(const Layout &layout, const SharedMap &map, unsigned elementBits,
                     const SharedShape &shape) {
  Span registers(layout.bases(Axis::Register));
  uint32_t moved = 0;
  for (uint32_t v : threads(layout))
    moved |= map.offset(v);
  std::optional<std::vector<uint32_t>> coordinates = inverse(map.images);
  assert(coordinates && "a map must be invertible");
  unsigned bits = 0, most = std::min<unsigned>(Sizes(elementBits, shape).vector, unsigned(map.images.size()));
  while (bits < most && !(moved >> bits & 1) && registers.contains((*coordinates)[bits]))
    ++bits;
  return 1u << bits;
}

unsigned wholeWidth(const Layout &layout, const SharedMap &map, unsigned width) {
  if (!layout.hasPadding())
    return width;
  std::optional<std::vector<uint32_t>> coordinates = inverse(map.images);
  assert(coordinates && "a map must be invertible");
  auto staysInside = [&](unsigned bit) {
    std::vector<int64_t> steps = layout.coordinates((*coordinates)[bit]);
    for (unsigned d = 0; d != layout.rank(); ++d)
      if (steps[d] != 0 && layout.extents()[d] % (2 * steps[d]) != 0)
        return false;
    return true;
  };
  unsigned bits = 0;
  while (2u << bits <= width && staysInside(bits))
    ++bits;
  return 1u << bits;
}

unsigned wavefronts(const Layout &layout, const SharedMap &map, unsigned width, unsigned elementBits,
                    const SharedShape &shape) {
  Sizes sizes(elementBits, shape);
  const auto &lanes = layout.bases(Axis::Lane);
  unsigned together = 1u << sizes.lanes(log2Of(width)), total = 0, wordBits = shape.bankBytes * 8;
  std::vector<uint64_t> words;
  std::vector<unsigned> load(shape.banks);
  for (unsigned first = 0; first < 1u << laneBits; first += together) {
    words.clear();
    for (unsigned lane = first; lane != first + together; ++lane) {
      uint64_t bit = uint64_t(map.offset(image(lanes, lane))) * elementBits,
               bits = uint64_t(width) * elementBits;
      for (uint64_t word = bit / wordBits; word <= (bit + bits - 1) / wordBits; ++word)
        words.push_back(word);
    }
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    std::fill(load.begin(), load.end(), 0);
    for (uint64_t word : words)
      ++load[word % shape.banks];
    total += *std::max_element(load.begin(), load.end());
  }
  return total;
}

} // namespace tegula::layout
