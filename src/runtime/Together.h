// The programs of a cooperative grid, each on a thread of its own: all run at the same time, so that each may
// wait for any other.
#pragma once
#include "runtime/Launch.h"
#include "runtime/Report.h"

namespace tegula::runtime {

// A grid of more programs is refused.
constexpr int64_t mostProgramsTogether = 1024;

// Returns when all programs have ended, one of them on the caller, which owns `scratch`. Launch: there are
// more than mostProgramsTogether. Resource: a thread or its memory cannot be had. Nothing has run then.
Status runTogether(const CpuKernel &kernel, const uint64_t *arguments, const Grid &grid, void *scratch,
                   Report &report);

} // namespace tegula::runtime
