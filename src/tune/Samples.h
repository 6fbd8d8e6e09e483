// The times of one candidate -> its median, how far that may be off, and which of the times are outliers.
#pragma once
#include <cstddef>
#include <vector>

namespace tegula::tune {

class Samples {
public:
  void add(double milliseconds);
  bool empty() const { return sorted_.empty(); }
  size_t count() const { return sorted_.size(); }
  // Linear between the two nearest ranks; 0 without samples.
  double quantile(double part) const;
  double median() const { return quantile(0.5); }
  double sum() const;
  double least() const { return sorted_.empty() ? 0 : sorted_.front(); }

  // The ranks between which the median of all runs lies, in 49 of 50 cases; of few samples all of them.
  double lowEnd() const { return sorted_.empty() ? 0 : sorted_[rank(false)]; }
  double highEnd() const { return sorted_.empty() ? 0 : sorted_[rank(true)]; }

  // Removes times that are far above the others: something else ran meanwhile. How many.
  size_t dropOutliers();

private:
  size_t rank(bool isHigh) const;
  std::vector<double> sorted_;
};

} // namespace tegula::tune
