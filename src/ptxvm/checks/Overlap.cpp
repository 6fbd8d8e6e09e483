#include "ptxvm/checks/Overlap.h"

#include <bit>
#include <cstring>

namespace tegula::ptxvm {
namespace {

// The usual case: addresses that grow, so far apart that nothing overlaps.
bool isAscending(const MemoryEvent &event) {
  uint64_t end = 0;
  for (uint32_t mask = event.mask; mask; mask &= mask - 1) {
    uint64_t address = event.addresses[std::countr_zero(mask)];
    if (address < end)
      return false;
    end = address + event.width;
  }
  return true;
}

bool storesTheSame(const MemoryEvent &event, unsigned a, unsigned b) {
  if (!event.data)
    return event.kind != AccessKind::Store;
  return std::memcmp(event.data + a * event.width, event.data + b * event.width, event.width) == 0;
}

} // namespace

LaneSet distinctLanes(const MemoryEvent &event) {
  LaneSet result{.mask = event.mask};
  if (isAscending(event))
    return result;
  for (uint32_t mask = event.mask; mask; mask &= mask - 1) {
    unsigned lane = unsigned(std::countr_zero(mask));
    uint64_t address = event.addresses[lane];
    for (uint32_t before = result.mask & ((1u << lane) - 1); before; before &= before - 1) {
      unsigned other = unsigned(std::countr_zero(before));
      uint64_t there = event.addresses[other];
      if (there + event.width <= address || address + event.width <= there)
        continue;
      bool isSame = there == address && storesTheSame(event, lane, other);
      if (event.kind == AccessKind::Store && !isSame && result.differingLane < 0) {
        result.differingLane = int(lane);
        result.differingFrom = int(other);
      }
      if (there == address) {
        result.mask &= ~(1u << lane);
        result.repeated |= 1u << other;
        break;
      }
    }
  }
  return result;
}

} // namespace tegula::ptxvm
