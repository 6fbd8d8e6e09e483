// Finds the candidates that tunings of near sizes chose: a tuning begins with them.
#pragma once
#include "tune/Results.h"

namespace tegula::tune {

struct Neighbour {
  std::vector<int64_t> sizes;
  std::string candidate; // its best
};

// Of the calls of the same kind whose sizes are all within a factor of `farthest` of these and not the same:
// the nearest, at most `most`, each of another best candidate, the nearest first.
constexpr double farthest = 4;
std::vector<Neighbour> neighboursOf(std::span<const Kept> rows, const std::string &call,
                                    const std::vector<int64_t> &sizes, size_t most = 3);

} // namespace tegula::tune
