// The threads that share the programs of a launch with its caller: those of the process's OpenMP runtime
// while they have the cores (OpenMp.h), else our own. One launch uses them at a time; a second one finds them
// busy and runs on its caller alone, so that launches from several threads, or from within a kernel, never
// wait for each other.
#pragma once
#include "runtime/Launch.h"
#include "runtime/Report.h"

#include <atomic>

namespace tegula::runtime {

// Programs [next, end) of one launch, taken in contiguous chunks that shrink towards the
// end: few calls of the entry, and an even finish when threads differ in speed.
class Work {
public:
  Work(const CpuKernel &kernel, const uint64_t *arguments, const int64_t *grid, int64_t first, int64_t end,
       unsigned threads, Report &report);

  // Runs chunks until none is left, or one has failed.
  void run(void *scratch);
  uint64_t scratchBytes() const { return kernel_.scratchBytes; }

private:
  const CpuKernel kernel_;
  const uint64_t *arguments_;
  const int64_t *grid_;
  Report &report_;
  const int64_t end_, smallest_;
  const unsigned threads_;
  alignas(64) std::atomic<int64_t> next_;
};

// Runs `work` on the caller, which owns `scratch`, and on up to `threads` - 1 others.
// Returns when all of it is done; false, with nothing done, if the threads are busy, with a launch or with
// the OpenMP region that the caller is in.
bool runOnPool(Work &work, unsigned threads, void *scratch);

} // namespace tegula::runtime
