// The way of a kernel to machine code: the rows of Pipeline.cpp, and what they work on.
#pragma once
#include "analysis/Nests.h"
#include "pipeline/Pipeline.h"

#include <optional>

namespace tegula::cpu {

struct CpuUnit : pipeline::Unit {
  CpuUnit();
  std::string text() const override;

  std::string cpu;                 // Cpu.h, CpuOptions
  analysis::AccessAnalysis access; // of the plan
  std::optional<analysis::NestPlan> plan;
  std::string symbol, object; // once they are emitted
};

// Stages: "plan", "emit", "optimize", "codegen".
std::span<const pipeline::Row> rows();

} // namespace tegula::cpu
