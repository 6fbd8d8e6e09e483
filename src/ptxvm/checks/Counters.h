// What a kernel's memory accesses and barriers cost, by instruction and by source line: requests of
// warps, 32-byte sectors of global memory, wavefronts of shared memory, divergence.
//
// Shared memory has 32 banks of 4 bytes. A request of 4 bytes a lane is one phase of 32 lanes, of 8
// bytes two of 16, of 16 bytes four of 8; in each phase a bank gives one word a wavefront.
#pragma once
#include "ptxvm/Events.h"

#include <string>
#include <vector>

namespace tegula::ptxvm {

struct InstructionCounts {
  uint64_t requests = 0;     // accesses of warps
  uint64_t lanes = 0;        // active lanes of those
  uint64_t bytes = 0;        // that lanes asked for
  uint64_t sectors = 0;      // global: touched
  uint64_t idealSectors = 0; // global: as many as the distinct bytes need
  uint64_t wavefronts = 0;   // shared
  uint64_t idealWavefronts = 0;
  uint64_t copyRequests = 0, copyLanes = 0,
           copyBytes = 0; // of cp.async into shared memory; others: its source
  uint64_t barriers = 0;  // arrivals of warps
  uint64_t branches = 0, divergentBranches = 0;
  uint32_t width = 0; // bytes of a lane
  Space space = Space::Generic;
  AccessKind kind = AccessKind::Load;

  InstructionCounts &operator+=(const InstructionCounts &other);
};

class Counters : public Observer {
public:
  void runBegins(const RunView &view) override;
  void runEnds() override;
  void memory(const WarpId &, const MemoryEvent &) override;
  void barrierArrives(const WarpId &, const BarrierEvent &) override;
  void branch(const WarpId &, const BranchEvent &) override;

  // By instruction of the kernel, after the run.
  const std::vector<InstructionCounts> &counts() const { return counts_; }

private:
  std::vector<std::vector<InstructionCounts>> workers_;
  std::vector<InstructionCounts> counts_;
};

struct SectorCount {
  unsigned touched = 0, ideal = 0;
};
SectorCount sectorsOf(const MemoryEvent &event);
struct WavefrontCount {
  unsigned needed = 0, ideal = 0;
};
WavefrontCount wavefrontsOf(const MemoryEvent &event);

} // namespace tegula::ptxvm
