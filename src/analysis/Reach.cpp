#include "analysis/Reach.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cstdlib>

using llvm::ArrayRef;
using llvm::SmallVectorImpl;

namespace tegula::analysis {

bool isReachable(ArrayRef<std::pair<int64_t, int64_t>> steps, int64_t rest, int64_t elementBytes) {
  if (steps.empty())
    return std::abs(rest) < elementBytes;
  auto [stride, count] = steps.front();
  if (stride == 0)
    return isReachable(steps.drop_front(), rest, elementBytes);
  int64_t others = elementBytes - 1;
  for (auto [bytes, times] : steps.drop_front())
    others += bytes * times;
  // By how many of the first steps the others can still make up the rest.
  int64_t least = llvm::divideFloorSigned(rest - others + stride - 1, stride);
  int64_t most = llvm::divideFloorSigned(rest + others, stride);
  least = std::max(least, -count);
  most = std::min(most, count);
  constexpr int64_t fewWays = 4;
  if (most - least >= fewWays)
    return true;
  for (int64_t times = least; times <= most; ++times)
    if (isReachable(steps.drop_front(), rest - times * stride, elementBytes))
      return true;
  return false;
}

bool areOneToOne(SmallVectorImpl<std::pair<uint64_t, uint64_t>> &steps) {
  llvm::sort(steps);
  uint64_t reach = 0;
  for (auto [bytes, count] : steps) {
    if (bytes <= reach || bytes > INT32_MAX)
      return false;
    reach += bytes * count;
  }
  return reach <= INT32_MAX;
}

} // namespace tegula::analysis
