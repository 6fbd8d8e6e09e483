// Vector clocks of happens-before. An agent is a warp. Its clock holds, for each warp of its own
// block, up to which of that warp's epochs it is ordered, and the same for warps of other blocks as
// far as atomics and fences have told it. A warp's epoch grows when others may learn of its past.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace tegula::ptxvm {

// By block: the epochs of its warps. Shared and never changed once published.
using Epochs = std::vector<uint32_t>;
using Published = std::shared_ptr<const std::map<uint32_t, std::shared_ptr<const Epochs>>>;

// The least clock that is ordered after both; either may be null.
Published joined(const Published &a, const Published &b);

// An access: who, in which epoch, where in the program.
struct Epoch {
  uint32_t block = 0;
  uint32_t clock = 0; // 0: there was none
  uint32_t instruction = 0;
  uint8_t warp = 0;
  uint8_t lane = 0;    // `severalLanes`: more than one
  bool strong = false; // an atomic, a volatile or relaxed access
  bool isValid() const { return clock != 0; }
};
inline constexpr uint8_t severalLanes = 255;

class WarpClock {
public:
  WarpClock(uint32_t block, uint32_t warp, uint32_t warps) : block_(block), warp_(warp), own_(warps) {
    own_[warp] = 1;
  }

  uint32_t now() const { return own_[warp_]; }
  const Epochs &own() const { return own_; }
  void tick() { ++own_[warp_]; }

  // Everything that this warp is ordered after, itself included; starts a new epoch.
  Published publish();
  void acquire(const Published &published);
  bool isAfter(const Epoch &epoch) const;

  // Of fences (PTX memory model: release and acquire patterns): what a strong write after the last
  // fence publishes, and what strong reads since then have seen.
  Published atFence, seen;

private:
  uint32_t block_, warp_;
  Epochs own_;
  Published others_;
};

// Order through mbarriers: whoever has waited for a phase is behind all who arrived in it.
class PhaseClocks {
public:
  void arrive(uint64_t barrier, const Published &past);
  void complete(uint64_t barrier);
  // Of all phases that are complete.
  const Published &completed(uint64_t barrier) { return barriers_[barrier].completed; }

private:
  struct Barrier {
    Published arrived, completed;
  };
  std::map<uint64_t, Barrier> barriers_;
};

} // namespace tegula::ptxvm
