// Runs a grid. The caller starts alone and measures: waking other threads costs some
// microseconds, so they are asked only when more than that is left. Programs may differ
// in cost (causal attention), so the measure goes on while the caller is alone.
#include "runtime/Launch.h"
#include "runtime/Costs.h"
#include "runtime/FloatState.h"
#include "runtime/Pool.h"
#include "runtime/Scratch.h"
#include "runtime/Together.h"

#include <algorithm>
#include <chrono>
#include <limits>

namespace tegula::runtime {

namespace {

using Clock = std::chrono::steady_clock;

double nanosecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

// Runs programs on the caller until all are done or what is left looks worth sharing;
// returns the first program not run.
int64_t runAlone(const CpuKernel &kernel, const uint64_t *arguments, const int64_t *grid, int64_t programs,
                 void *scratch, const Report &report) {
  auto start = Clock::now();
  for (int64_t done = 0, chunk = 1;;) {
    int64_t last = std::min(programs, done + chunk);
    kernel.entry(arguments, grid, done, last, scratch);
    done = last;
    if (done == programs || report.failed())
      return done;
    double elapsed = nanosecondsSince(start);
    if (elapsed > costs.wakeNanoseconds ||
        elapsed / double(done) * double(programs - done) > costs.wakeNanoseconds)
      return done;
    chunk *= 2;
  }
}

} // namespace

Result<int64_t> programCount(const Grid &grid) {
  constexpr int64_t limit = std::numeric_limits<int32_t>::max();
  int64_t count = 1;
  for (size_t axis = 0; axis < grid.extent.size(); ++axis)
    if (int64_t extent = grid.extent[axis]; extent < 0 || extent > limit)
      return Status::error(StatusCode::Launch, "axis " + std::to_string(axis) + " of the grid is " +
                                                   std::to_string(extent) + "; it must be from 0 to " +
                                                   std::to_string(limit));
  if (std::ranges::count(grid.extent, 0) != 0)
    return int64_t(0);
  for (int64_t extent : grid.extent)
    if (__builtin_mul_overflow(count, extent, &count))
      return Status::error(StatusCode::Launch, "the grid has more than 2^63 - 1 programs");
  return count;
}

Status launch(const CpuKernel &kernel, std::span<const uint64_t> arguments, const Grid &grid) {
  if (!kernel.entry)
    return Status::error(StatusCode::Internal, "the kernel has no code");
  Result<int64_t> programs = programCount(grid);
  if (!programs)
    return programs.status();
  if (*programs == 0)
    return Status::success();
  if (Status status = threadCountStatus(); !status.ok())
    return status;
  Scratch scratch(kernel.scratchBytes);
  if (!scratch.ok())
    return Status::error(StatusCode::Resource, "the kernel needs " + std::to_string(kernel.scratchBytes) +
                                                   " bytes of scratch memory a thread, which cannot be had");
  FloatState defaults;
  const int64_t *extents = grid.extent.data();
  unsigned threads = threadCount();
  Report report(kernel.isCooperative);
  if (kernel.isCooperative && *programs > 1) {
    if (Status status = runTogether(kernel, arguments.data(), grid, scratch.data(), report); !status.ok())
      return status;
  } else {
    ReportScope scope(report);
    int64_t done = *programs;
    if (*programs == 1 || threads == 1)
      kernel.entry(arguments.data(), extents, 0, *programs, scratch.data());
    else
      done = runAlone(kernel, arguments.data(), extents, *programs, scratch.data(), report);
    if (done != *programs && !report.failed()) {
      Work rest(kernel, arguments.data(), extents, done, *programs, threads, report);
      if (!runOnPool(rest, threads, scratch.data()))
        kernel.entry(arguments.data(), extents, done, *programs, scratch.data());
    }
  }
  return report.status();
}

} // namespace tegula::runtime
