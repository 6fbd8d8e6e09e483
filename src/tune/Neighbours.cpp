#include "tune/Neighbours.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

namespace tegula::tune {
namespace {

double magnitude(int64_t size) { return std::log2(std::abs(double(size)) + 1); }

// The sum of the logarithms of the factors; nullopt: too far, or not to be compared.
std::optional<double> distance(const std::vector<int64_t> &a, const std::vector<int64_t> &b) {
  if (a.size() != b.size())
    return std::nullopt;
  double sum = 0;
  for (size_t i = 0; i != a.size(); ++i) {
    double apart = std::abs(magnitude(a[i]) - magnitude(b[i]));
    if (apart > std::log2(farthest) || (a[i] < 0) != (b[i] < 0))
      return std::nullopt;
    sum += apart;
  }
  return sum;
}

} // namespace

std::vector<Neighbour> neighboursOf(std::span<const Kept> rows, const std::string &call,
                                    const std::vector<int64_t> &sizes, size_t most) {
  std::map<std::vector<int64_t>, const Kept *> best; // in one order, whatever that of the lines
  for (const Kept &row : rows) {
    if (row.call != call || row.sizes == sizes)
      continue;
    const Kept *&known = best[row.sizes];
    if (!known || row.median < known->median ||
        (row.median == known->median && row.candidate < known->candidate))
      known = &row;
  }
  std::vector<std::pair<double, const Kept *>> near;
  for (const auto &[other, row] : best)
    if (std::optional<double> apart = distance(sizes, other))
      near.emplace_back(*apart, row);
  std::ranges::sort(near, {}, [](const auto &one) { return std::tie(one.first, one.second->sizes); });
  std::vector<Neighbour> found;
  for (const auto &[apart, row] : near) {
    bool isKnown =
        std::ranges::any_of(found, [&](const Neighbour &n) { return n.candidate == row->candidate; });
    if (!isKnown && found.size() != most)
      found.push_back({row->sizes, row->candidate});
  }
  return found;
}

} // namespace tegula::tune
