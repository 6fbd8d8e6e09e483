#include "layout/Builders.h"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace tegula::layout {

namespace {
// Deals out the bits of the hull to axes, from each dimension's lowest bit up.
class Dealer {
public:
  explicit Dealer(std::vector<int64_t> extents, double fullThreads = someFullThreads)
      : empty_(std::move(extents), {}), next_(empty_.rank(), 0), fullThreads_(fullThreads) {}

  unsigned left(unsigned dim) const { return empty_.hullBits(dim) - next_[dim]; }

  // Up to `count` bits of `dim` to `axis`; how many.
  unsigned take(Axis axis, unsigned dim, unsigned count) {
    unsigned taken = 0;
    for (; taken < count && left(dim); ++taken)
      bases_[size_t(axis)].push_back(1u << (empty_.shift(dim) + next_[dim]++));
    return taken;
  }
  // `count` bits along `dims` in turn: first those that leave few threads without an element, then any; then
  // replication.
  void takeThreads(Axis axis, std::span<const unsigned> dims, unsigned count) {
    for (bool any : {false, true})
      for (unsigned dim : dims)
        while (count && left(dim) && (any || isFull(dim)))
          count -= take(axis, dim, 1);
    bases_[size_t(axis)].insert(bases_[size_t(axis)].end(), count, 0u);
  }
  void takeRest(std::span<const unsigned> dims) {
    for (unsigned dim : dims)
      take(Axis::Register, dim, left(dim));
  }
  Layout finish() { return {empty_.extents(), std::move(bases_)}; }

private:
  // Are threads along the next bit used, but for few?
  bool isFull(unsigned dim) const {
    int64_t extent = empty_.extents()[dim], chunk = int64_t(2) << next_[dim];
    int64_t covered = (extent + chunk - 1) / chunk * chunk;
    return double(covered) <= fullThreads_ * double(extent);
  }
  Layout empty_;
  std::vector<unsigned> next_;
  double fullThreads_;
  Layout::Bases bases_;
};

unsigned log2Of(unsigned n) {
  assert(std::has_single_bit(n) && "powers of two only");
  return unsigned(std::countr_zero(n));
}

std::vector<unsigned> lastFastest(size_t rank) {
  std::vector<unsigned> order(rank);
  std::iota(order.rbegin(), order.rend(), 0u);
  return order;
}

// Bits of a run along the fastest dimension that divides its extent and leaves each thread an element.
unsigned vectorBits(std::span<const int64_t> extents, unsigned fastest, unsigned wish, unsigned warps) {
  unsigned hull = 0;
  for (int64_t extent : extents)
    hull += bitsOf(extent);
  unsigned threads = laneBits + log2Of(warps);
  unsigned divides = unsigned(std::countr_zero(uint64_t(extents[fastest])));
  return std::min({log2Of(wish), divides, hull > threads ? hull - threads : 0});
}
} // namespace

Layout coalesced(std::vector<int64_t> extents, std::span<const unsigned> order, unsigned vectorElements,
                 unsigned warps, double fullThreads) {
  unsigned run = order.empty() ? 1 : 1u << vectorBits(extents, order[0], vectorElements, warps);
  return coalescedRuns(std::move(extents), order, run, warps, fullThreads);
}

Layout coalescedRuns(std::vector<int64_t> extents, std::span<const unsigned> order, unsigned run,
                     unsigned warps, double fullThreads) {
  assert(order.size() == extents.size());
  Dealer dealer(extents, fullThreads);
  if (!order.empty())
    dealer.take(Axis::Register, order[0], log2Of(run));
  dealer.takeThreads(Axis::Lane, order, laneBits);
  dealer.takeThreads(Axis::Warp, order, log2Of(warps));
  dealer.takeRest(order);
  return dealer.finish();
}

Layout coalesced(std::vector<int64_t> extents, unsigned vectorElements, unsigned warps) {
  std::vector<unsigned> order = lastFastest(extents.size());
  return coalesced(std::move(extents), order, vectorElements, warps);
}

Layout reduction(std::vector<int64_t> extents, unsigned dim, std::span<const unsigned> order,
                 unsigned vectorElements, unsigned warps, double fullThreads) {
  assert(order.size() == extents.size());
  std::vector<unsigned> axisLast;
  for (unsigned d : order)
    if (d != dim)
      axisLast.push_back(d);
  axisLast.push_back(dim);
  Dealer dealer(extents, fullThreads);
  dealer.take(Axis::Register, order[0], vectorBits(extents, order[0], vectorElements, warps));
  dealer.takeThreads(Axis::Lane, order, laneBits);
  dealer.takeThreads(Axis::Warp, axisLast, log2Of(warps));
  dealer.takeRest(order);
  return dealer.finish();
}

Layout withRuns(std::vector<int64_t> extents, std::span<const unsigned> order, unsigned vectorElements,
                std::span<const int64_t> runs, unsigned warps, double fullThreads) {
  assert(order.size() == extents.size() && runs.size() == extents.size());
  Dealer dealer(extents, fullThreads);
  dealer.take(Axis::Register, order[0], vectorBits(extents, order[0], vectorElements, warps));
  dealer.takeThreads(Axis::Lane, order, laneBits);
  std::vector<unsigned> slow(order.begin() + 1, order.end());
  unsigned left = 0, warpBits = log2Of(warps);
  for (unsigned d : order)
    left += dealer.left(d);
  for (unsigned d : slow)
    left -=
        dealer.take(Axis::Register, d, std::min(log2Of(unsigned(runs[d])), left - std::min(left, warpBits)));
  slow.push_back(order[0]);
  dealer.takeThreads(Axis::Warp, slow, warpBits);
  dealer.takeRest(order);
  return dealer.finish();
}

Layout scanned(const Layout &layout, unsigned dim) {
  Layout::Bases bases = layout.allBases();
  std::vector<uint32_t *> movers; // registers' first
  std::vector<uint32_t> along;
  for (Axis axis : {Axis::Register, Axis::Warp})
    for (uint32_t &basis : bases[size_t(axis)])
      if (basis & layout.dimMask(dim)) {
        if (basis & ~layout.dimMask(dim))
          return layout;
        movers.push_back(&basis);
        along.push_back(basis);
      }
  std::sort(along.begin(), along.end());
  for (size_t i = 0; i != movers.size(); ++i)
    *movers[i] = along[i];
  return {layout.extents(), std::move(bases)};
}

Layout reductionInThreads(std::vector<int64_t> extents, unsigned dim, unsigned run, unsigned lanesAlong,
                          unsigned warps, double fullThreads) {
  Dealer dealer(extents, fullThreads);
  std::vector<unsigned> others = lastFastest(extents.size());
  std::erase(others, dim);
  unsigned left = 0, warpBits = log2Of(warps);
  for (unsigned d : others)
    left += dealer.left(d);
  unsigned warpsAcross = std::min(warpBits, left);
  unsigned lanesAcross = std::min(laneBits - log2Of(lanesAlong), left - warpsAcross);
  unsigned threadsAlong = laneBits - lanesAcross + warpBits - warpsAcross;
  unsigned own = dealer.left(dim) - std::min(dealer.left(dim), threadsAlong);
  unsigned divides = unsigned(std::countr_zero(uint64_t(extents[dim])));
  const unsigned along[] = {dim};
  dealer.take(Axis::Register, dim, std::min({log2Of(run), own, divides}));
  if (!others.empty()) // neighbours of a thread, where there are more than threads
    dealer.take(Axis::Register, others[0], left - warpsAcross - lanesAcross);
  dealer.takeThreads(Axis::Lane, others, lanesAcross);
  dealer.takeThreads(Axis::Lane, along, laneBits - lanesAcross);
  dealer.takeThreads(Axis::Warp, others, warpsAcross);
  dealer.takeThreads(Axis::Warp, along, warpBits - warpsAcross);
  others.push_back(dim);
  dealer.takeRest(others);
  return dealer.finish();
}

Layout dotBlocked(std::vector<int64_t> extents, unsigned warps, unsigned tileM, unsigned tileN,
                  double fullThreads) {
  unsigned rank = unsigned(extents.size());
  assert(rank >= 2);
  unsigned m = rank - 2, n = rank - 1, count = log2Of(warps);
  Dealer dealer(extents, fullThreads);
  // A small tile is shared out among all threads rather than computed by few.
  unsigned threads = laneBits + count, hull = bitsOf(extents[m]) + bitsOf(extents[n]);
  unsigned own = hull > threads ? hull - threads : 0;
  unsigned alongN = std::min(log2Of(tileN), (own + 1) / 2),
           alongM = std::min(log2Of(tileM), own - std::min(own, alongN));
  dealer.take(Axis::Register, n, alongN);
  dealer.take(Axis::Register, m, alongM);
  unsigned lanesM = dealer.take(Axis::Lane, m, 1), lanesN = dealer.take(Axis::Lane, n, 3);
  lanesM += dealer.take(Axis::Lane, m, laneBits - lanesN - lanesM);
  std::vector<unsigned> others = lastFastest(rank);
  dealer.takeThreads(Axis::Lane, others, laneBits - lanesN - lanesM);
  for (; count && (dealer.left(m) || dealer.left(n)); --count)
    dealer.take(Axis::Warp, dealer.left(m) >= dealer.left(n) ? m : n, 1);
  dealer.takeThreads(Axis::Warp, others, count);
  dealer.takeRest(others);
  return dealer.finish();
}

Layout dotOperand(const Layout &result, unsigned operand, int64_t k) {
  unsigned rank = result.rank();
  assert(rank >= 2 && operand < 2);
  // The dimension which the operand lacks gives its place to K.
  unsigned lacking = operand == 0 ? rank - 1 : rank - 2;
  Layout kept = result.narrowed(lacking).withoutRepeatedRegisters();
  std::vector<int64_t> extents = kept.extents();
  extents[lacking] = k;
  unsigned at = kept.shift(lacking), bits = bitsOf(k);
  uint32_t below = (1u << at) - 1;
  Layout::Bases bases = kept.allBases();
  for (auto &images : bases)
    for (uint32_t &image : images)
      image = (image & below) | (image & ~below) << bits;
  for (unsigned bit = 0; bit != bits; ++bit)
    bases[0].insert(bases[0].begin() + bit, 1u << (at + bit));
  return {std::move(extents), std::move(bases)};
}

Layout replicated(std::vector<int64_t> extents, unsigned warps) {
  Dealer dealer(extents);
  dealer.takeThreads(Axis::Lane, {}, laneBits);
  dealer.takeThreads(Axis::Warp, {}, log2Of(warps));
  dealer.takeRest(lastFastest(extents.size()));
  return dealer.finish();
}

std::string builderOf(const Layout &layout) {
  const std::vector<int64_t> &extents = layout.extents();
  unsigned rank = layout.rank(), warps = layout.size(Axis::Warp);
  if (rank == 0 || rank > 4 || layout.bases(Axis::Lane).size() != laneBits ||
      !layout.bases(Axis::Block).empty())
    return "";
  std::vector<unsigned> order = lastFastest(rank);
  auto joined = [&] {
    std::string text;
    for (unsigned dim : order)
      text += (text.empty() ? "" : ",") + std::to_string(dim);
    return text;
  };
  std::sort(order.begin(), order.end(), std::greater<>());
  do
    for (unsigned vector = 1; vector <= 16; vector *= 2)
      if (coalesced(extents, order, vector, warps) == layout)
        return "coalesced<order=" + joined() + " vector=" + std::to_string(vector) +
               " warps=" + std::to_string(warps) + ">";
  while (std::prev_permutation(order.begin(), order.end()));
  if (rank >= 2)
    for (unsigned m = 1; m <= 8; m *= 2)
      for (unsigned n = 1; n <= 8; n *= 2)
        if (dotBlocked(extents, warps, m, n) == layout)
          return "dot<" + std::to_string(m) + "x" + std::to_string(n) + " warps=" + std::to_string(warps) +
                 ">";
  if (replicated(extents, warps) == layout)
    return "replicated<warps=" + std::to_string(warps) + ">";
  return "";
}

} // namespace tegula::layout
