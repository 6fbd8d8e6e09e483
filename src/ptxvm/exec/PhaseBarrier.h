// Barriers with phases (mbarrier) in shared memory, as the machine keeps them: the bytes of the barrier
// itself are not looked at.
#pragma once
#include <cstdint>

namespace tegula::ptxvm {

constexpr uint32_t mostArrivals = (1u << 20) - 1; // and bytes, of a phase

struct PhaseBarrier {
  uint32_t count = 0, pending = 0; // arrivals of a phase; that have yet to come
  int64_t bytes = 0;               // that the phase awaits; below 0: they came before they were announced
  uint64_t phase = 0;              // phases that are complete
  uint32_t instruction = 0, warp = 0, lane = 0; // that initialised it
  bool isFenced = false;                        // copies see that it is initialised
};

} // namespace tegula::ptxvm
