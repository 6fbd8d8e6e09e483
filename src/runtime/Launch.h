// Running compiled programs on this machine's cores: no compiler, no MLIR, no JSON.
#pragma once
#include "base/Status.h"

#include <array>
#include <cstdint>
#include <span>

namespace tegula::runtime {

struct Grid {
  std::array<int64_t, 3> extent{1, 1, 1};
  // Of a grid that programCount accepts.
  int64_t programs() const { return extent[0] * extent[1] * extent[2]; }
};

// The number of programs, or Launch: an extent is negative or above 2^31 - 1. An extent of
// 0 gives 0 programs, and a launch does nothing.
Result<int64_t> programCount(const Grid &grid);

// The entry of a kernel compiled for the CPU (kernel parameter ABI, mode `plain`):
// runs programs [first, last) of the grid in row order (axis 0 fastest).
//   arguments  one 8-byte slot an argument, little endian: pointers as addresses, integers
//              sign- or zero-extended, floats as the bits of their type in the low bytes
//   grid       three int64 extents
//   scratch    `scratchBytes` of memory for this thread, 64-byte aligned
using CpuEntry = void (*)(const uint64_t *arguments, const int64_t *grid, int64_t first, int64_t last,
                          void *scratch);

struct CpuKernel {
  CpuEntry entry = nullptr;
  uint64_t scratchBytes = 0;
  bool isCooperative = false; // all programs of a launch run at the same time, or it is refused
};

// Runs all programs of the grid over the pool's threads and returns when they are done.
// Small grids run inline on the caller. Safe from several threads; usable after fork.
Status launch(const CpuKernel &kernel, std::span<const uint64_t> arguments, const Grid &grid);

// Threads that launches use: TEGULA_NUM_THREADS, else the cores this process may run on.
unsigned threadCount();
void setThreadCount(unsigned threads); // from 1 to 1024; clamped
// Launch, when TEGULA_NUM_THREADS is not such a number; every launch returns it then.
Status threadCountStatus();

} // namespace tegula::runtime
