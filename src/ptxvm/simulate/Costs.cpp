#include "ptxvm/simulate/Costs.h"
#include "base/Files.h"

#include <algorithm>
#include <sstream>
#include <utility>

namespace tegula::ptxvm {
namespace {

template <class T> void addTo(std::vector<T> &sum, const std::vector<T> &more) {
  sum.resize(std::max(sum.size(), more.size()));
  for (size_t i = 0; i < more.size(); ++i)
    sum[i] += more[i];
}

InstructionCounts &partOf(LineCosts &line, const InstructionCounts &counts) {
  if (counts.requests && counts.space == Space::Global)
    return line.global;
  return counts.requests && counts.space == Space::Shared ? line.shared : line.other;
}

// Adds an instruction to its line; the two sides of a copy apart.
void addCounts(LineCosts &line, InstructionCounts counts) {
  if (counts.copyRequests) {
    InstructionCounts shared;
    shared.requests = counts.copyRequests;
    shared.lanes = counts.copyLanes;
    shared.bytes = counts.copyBytes;
    shared.wavefronts = std::exchange(counts.wavefronts, 0);
    shared.idealWavefronts = std::exchange(counts.idealWavefronts, 0);
    shared.space = Space::Shared;
    shared.kind = AccessKind::Store;
    line.shared += shared;
  }
  partOf(line, counts) += counts;
}

} // namespace

void KernelCosts::add(const Report &report, const std::vector<InstructionCounts> &more,
                      const std::vector<bool> &orderedMore) {
  ordered.resize(orderedMore.size());
  for (size_t i = 0; i < orderedMore.size(); ++i)
    ordered[i] = ordered[i] || orderedMore[i];
  addTo(executions, report.executions);
  addTo(lanes, report.lanes);
  addTo(counts, more);
}

CostsByLine costsByLine(const KernelCosts &costs) {
  CostsByLine result;
  const PtxKernel &kernel = *costs.kernel;
  for (uint32_t i = 0; i < kernel.instructions.size(); ++i) {
    uint32_t line = kernel.sourceLine(i);
    std::string file = line ? std::string(kernel.sourceFile(i)) : kernel.module->name;
    LineCosts &at = result[file][line ? line : kernel.instructions[i].line];
    at.instructions += i < costs.executions.size() ? costs.executions[i] : 0;
    at.lanes += i < costs.lanes.size() ? costs.lanes[i] : 0;
    if (i < costs.counts.size())
      addCounts(at, costs.counts[i]);
  }
  return result;
}

LineCosts totalOf(const CostsByLine &files) {
  LineCosts total;
  for (const auto &[file, lines] : files) {
    for (const auto &[number, line] : lines) {
      total.instructions += line.instructions;
      total.lanes += line.lanes;
      total.global += line.global;
      total.shared += line.shared;
      total.other += line.other;
    }
  }
  return total;
}

std::vector<std::pair<std::string, uint64_t>> instructionMix(const KernelCosts &costs) {
  std::map<std::string, uint64_t> mix;
  for (size_t i = 0; i < costs.executions.size() && i < costs.kernel->instructions.size(); ++i) {
    std::string_view text = costs.kernel->instructions[i].text;
    if (text.starts_with("@"))
      text.remove_prefix(std::min(text.find_first_of(" \t") + 1, text.size()));
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    if (costs.executions[i])
      mix[std::string(text.substr(0, text.find_first_of(" \t;")))] += costs.executions[i];
  }
  std::vector<std::pair<std::string, uint64_t>> list(mix.begin(), mix.end());
  std::sort(list.begin(), list.end(), [](const auto &a, const auto &b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  return list;
}

std::vector<uint32_t> idleBarriers(const KernelCosts &costs) {
  std::vector<uint32_t> idle;
  for (uint32_t i = 0; i < costs.counts.size() && i < costs.ordered.size(); ++i)
    if (costs.counts[i].barriers && !costs.ordered[i])
      idle.push_back(i);
  return idle;
}

static std::string textOr(Result<std::string> text, std::string otherwise) {
  return text ? std::move(*text) : std::move(otherwise);
}

std::vector<std::string> sourceLines(const Module &module, const std::string &file) {
  constexpr uint64_t largestSource = uint64_t(1) << 26; // any path may stand in code
  std::istringstream text(file == module.name ? module.text : textOr(readFile(file, largestSource), ""));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);)
    lines.push_back(line);
  return lines;
}

} // namespace tegula::ptxvm
