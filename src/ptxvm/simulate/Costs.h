// What runs of a kernel cost, by line of its source, or of its PTX where that names no source.
#pragma once
#include "ptxvm/Run.h"
#include "ptxvm/checks/Counters.h"

#include <map>
#include <string>
#include <vector>

namespace tegula::ptxvm {

struct LineCosts {
  uint64_t instructions = 0; // of warps
  uint64_t lanes = 0;        // active lanes of those
  InstructionCounts global, shared, other;
};

struct KernelCosts {
  const PtxKernel *kernel = nullptr;
  std::vector<uint64_t> executions, lanes; // by instruction
  std::vector<InstructionCounts> counts;
  std::vector<bool> ordered; // barriers that ordered something

  void add(const Report &report, const std::vector<InstructionCounts> &more,
           const std::vector<bool> &orderedMore);
};

// By file, then line.
using CostsByLine = std::map<std::string, std::map<uint32_t, LineCosts>>;
CostsByLine costsByLine(const KernelCosts &costs);
LineCosts totalOf(const CostsByLine &lines);

// How often each opcode was executed by warps, most often first.
std::vector<std::pair<std::string, uint64_t>> instructionMix(const KernelCosts &costs);

// Barriers that were executed and ordered nothing in the runs, by instruction.
std::vector<uint32_t> idleBarriers(const KernelCosts &costs);

// The lines of a file, or of the module's text when `file` is its name; empty when it cannot be read.
std::vector<std::string> sourceLines(const Module &module, const std::string &file);

} // namespace tegula::ptxvm
