// Which barriers of a run ordered anything: some thread accesses a byte before the barrier, another
// one behind it and before the next, and one of them changes it. Brute force, by intervals between
// barriers and without clocks: it knows nothing of the race check and can judge it.
#pragma once
#include "ptxvm/Events.h"

#include <vector>

namespace tegula::ptxvm {

class BarrierUse : public Observer {
public:
  void runBegins(const RunView &view) override;
  void runEnds() override;
  void blockBegins(uint32_t worker, uint32_t block, std::span<std::byte> shared) override;
  void blockEnds(uint32_t worker, uint32_t block) override;
  void memory(const WarpId &, const MemoryEvent &) override;
  void copyCompletes(const WarpId &, const CopyEvent &, bool waited) override;
  void barrierArrives(const WarpId &, const BarrierEvent &) override;
  void barrierCompletes(uint32_t worker, uint32_t block, uint32_t id, std::span<const uint32_t> arrived,
                        std::span<const uint32_t> waiters) override;

  BarrierUse();
  ~BarrierUse() override;
  // By instruction, after the run: whether a barrier there ordered something; false elsewhere.
  const std::vector<bool> &ordered() const { return ordered_; }

private:
  struct Block;
  struct Worker;
  void use(const WarpId &who, Space space, uint64_t address, uint32_t lane, bool changes);
  std::vector<Worker> workers_;
  std::vector<bool> ordered_;
};

} // namespace tegula::ptxvm
