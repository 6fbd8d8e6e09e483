// Lanes of one instruction that access the same bytes.
#pragma once
#include "ptxvm/Events.h"

namespace tegula::ptxvm {

struct LaneSet {
  uint32_t mask = 0;     // one lane for each address
  uint32_t repeated = 0; // of those, the lanes whose address other lanes have too
  // Two lanes that store different values to overlapping bytes; -1: none.
  int differingLane = -1, differingFrom = -1;
};

LaneSet distinctLanes(const MemoryEvent &event);

} // namespace tegula::ptxvm
