// The way of a kernel to PTX: the rows of Pipeline.cpp, and what they work on.
#pragma once
#include "pipeline/Pipeline.h"
#include "targets/nvidia/Architecture.h"
#include "targets/nvidia/Nvidia.h"
#include "targets/nvidia/NvidiaMachine.h"

namespace tegula::nvidia {

struct NvidiaUnit : pipeline::Unit {
  NvidiaUnit(const Architecture &architecture, const NvidiaMachine &machine)
      : Unit(machine), architecture(architecture) {}
  std::string text() const override { return ptx.empty() ? Unit::text() : ptx; }

  const Architecture &architecture;
  std::string entry, ptx; // once they are emitted
};

// Stages: "simt", "emit", "optimize", "ptx".
std::span<const pipeline::Row> rows();

} // namespace tegula::nvidia
