// How neighbours along a dimension share addresses where they are not contiguous: bytes that hold
// several packed values, `k // 8`. A guess from the shape of the expression, with everything that only
// run time knows taken as 0: it chooses layouts and proves nothing. In: tiles of integers or addresses of
// one function that does not change meanwhile. Each value is looked at once a dimension, however many
// expressions share it; the stack does not grow with the program.
#pragma once
#include "ir/simt/Costs.h"
#include "ir/tile/Tile.h"

#include <optional>

namespace tegula::convert {

class Locality {
public:
  // Beyond `limit` samples (of 512 bytes) no further expression is looked at: its answer is 1.
  static constexpr size_t defaultLimit = 1 << 16;
  explicit Locality(size_t limit = defaultLimit, const simt::Costs &costs = {})
      : limit_(limit), leastSharing_(costs.leastSharing), moreSharing_(costs.moreSharing) {}

  // The length (a power of two, at most `limit`) of the shortest run of neighbours along `dim` in which
  // a thread finds most addresses twice; 1 if runs share little, or nothing is known.
  unsigned sharingRun(mlir::Value offsets, unsigned dim, unsigned limit);

  // How many values were computed so far: the work that was done.
  size_t sampled() const { return sampled_; }

private:
  using Neighbours = std::vector<int64_t>;
  // A tile's elements at 0, 1, ... along a dimension, 0 along the others; -1: at 0 along all.
  using Key = std::pair<mlir::Value, int>;
  using Sample = std::optional<Neighbours>;

  const Sample &sample(Key wanted);

  size_t limit_, sampled_ = 0;
  double leastSharing_, moreSharing_;
  llvm::DenseMap<Key, Sample> samples_; // nullopt: nothing is known
};

} // namespace tegula::convert
