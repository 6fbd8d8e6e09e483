#include "tune/Samples.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tegula::tune {

void Samples::add(double milliseconds) {
  sorted_.insert(std::upper_bound(sorted_.begin(), sorted_.end(), milliseconds), milliseconds);
}

double Samples::quantile(double part) const {
  if (sorted_.empty())
    return 0;
  double place = part * double(sorted_.size() - 1);
  auto low = size_t(place);
  size_t high = std::min(low + 1, sorted_.size() - 1);
  return sorted_[low] + (sorted_[high] - sorted_[low]) * (place - double(low));
}

double Samples::sum() const { return std::accumulate(sorted_.begin(), sorted_.end(), 0.0); }

// The number of runs below the true median is binomial: half of them, give or take sqrt(n) / 2 for a
// deviation.
size_t Samples::rank(bool isHigh) const {
  double middle = double(sorted_.size()) / 2, off = 1.2 * std::sqrt(double(sorted_.size()));
  double wanted = isHigh ? std::ceil(middle + off) : std::floor(middle - off) - 1;
  return size_t(std::clamp(wanted, 0.0, double(sorted_.size() - 1)));
}

// Far: six times the median distance from the median, and a twentieth of it. Below a median there are none.
size_t Samples::dropOutliers() {
  if (sorted_.size() < 5)
    return 0;
  double middle = median();
  std::vector<double> distances;
  for (double time : sorted_)
    distances.push_back(std::abs(time - middle));
  std::ranges::sort(distances);
  double bound = middle + std::max(6 * distances[distances.size() / 2], middle / 20);
  auto end = std::upper_bound(sorted_.begin(), sorted_.end(), bound);
  auto count = size_t(sorted_.end() - end);
  sorted_.erase(end, sorted_.end());
  return count;
}

} // namespace tegula::tune
