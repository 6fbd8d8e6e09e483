// Launches of so few programs that each has a multiprocessor for itself. Their code takes all registers and
// starts copies earlier, at the cost of programs that are not there; a kernel with loops so has two codes,
// and each is compiled at the first launch that runs it (docs/decisions/0035-programs-that-are-alone.md).
#pragma once
#include "compiler/Targets.h"
#include "runtime/Launch.h"

#include <optional>

namespace tegula::compiler {

// The most programs of such a launch, if TEGULA_PROGRAMS_ALONE says so for all devices.
std::optional<int64_t> mostAlone();

// Has each program of this launch a multiprocessor for itself? `most`: as above; else the device has as many
// as it has multiprocessors. False where nobody knows.
bool runsAlone(const Target &target, const runtime::Grid &grid, const runtime::Place &place,
               std::optional<int64_t> most);

} // namespace tegula::compiler
