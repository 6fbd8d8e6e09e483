#include "ptxvm/simulate/Render.h"

#include <cstdarg>
#include <cstdio>

namespace tegula::ptxvm {
namespace {

[[gnu::format(printf, 1, 2)]] std::string formatted(const char *format, ...) {
  char buffer[256];
  va_list list;
  va_start(list, format);
  std::vsnprintf(buffer, sizeof buffer, format, list);
  va_end(list);
  return buffer;
}

std::string ratio(uint64_t part, uint64_t whole) {
  return whole ? formatted("%.1f", double(part) / double(whole)) : "";
}

std::string number(uint64_t value) { return value ? std::to_string(value) : ""; }

std::string row(const LineCosts &line, uint64_t total) {
  return formatted("%7s %9s %9s %7s %9s %7s %8s", percent(line.instructions, total).c_str(),
                   number(line.instructions).c_str(), number(line.global.sectors).c_str(),
                   ratio(line.global.sectors, line.global.idealSectors).c_str(),
                   number(line.shared.wavefronts).c_str(),
                   ratio(line.shared.wavefronts, line.shared.idealWavefronts).c_str(),
                   number(line.other.barriers).c_str());
}

std::string lineRange(const Module &module, const std::string &file,
                      const std::map<uint32_t, LineCosts> &lines, uint64_t total) {
  std::vector<std::string> source = sourceLines(module, file);
  std::string text = "\n" + file + "\n";
  uint32_t last = 0;
  for (const auto &[number, line] : lines) {
    for (uint32_t between = last ? last + 1 : number; between < number; ++between)
      if (between <= source.size())
        text += std::string(62, ' ') + formatted("%5u | ", between) + source[between - 1] + "\n";
    text += row(line, total) + formatted("%5u | ", number) +
            (number <= source.size() ? source[number - 1] : "") + "\n";
    last = number;
  }
  return text;
}

std::string summary(const LineCosts &total) {
  std::string text = std::to_string(total.instructions) + " warp instructions, ";
  text += total.instructions
              ? formatted("%.1f lanes active", double(total.lanes) / double(total.instructions))
              : "none";
  return text + "\n" + remarksOf(total);
}

std::string kernelText(const KernelCosts &costs) {
  CostsByLine files = costsByLine(costs);
  LineCosts total = totalOf(files);
  std::string text = costs.kernel->name + ": " + summary(total);
  text += formatted("\n%7s %9s %9s %7s %9s %7s %8s\n", "share", "warp", "sectors", "of", "wave-", "of",
                    "barriers");
  text += formatted("%7s %9s %9s %7s %9s %7s\n", "", "instr.", "global", "ideal", "fronts", "ideal");
  for (const auto &[file, lines] : files)
    text += lineRange(*costs.kernel->module, file, lines, total.instructions);
  for (uint32_t i : idleBarriers(costs))
    text += "\nthe barrier in PTX line " + std::to_string(costs.kernel->instructions[i].line) + " (line " +
            std::to_string(costs.kernel->sourceLine(i)) + ") ordered nothing in this run";
  text += "\ninstructions:\n";
  for (const auto &[opcode, count] : instructionMix(costs))
    text += formatted("%10llu  ", static_cast<unsigned long long>(count)) + opcode + "\n";
  return text;
}

} // namespace

std::string percent(uint64_t part, uint64_t total) {
  return part && total ? formatted("%.1f %%", 100.0 * double(part) / double(total)) : "";
}

std::string remarksOf(const LineCosts &line) {
  std::string text;
  const InstructionCounts &global = line.global, &shared = line.shared;
  if (global.requests)
    text += formatted(
        "global memory: %llu requests, %.1f sectors a request where %.1f would do, %.0f bytes a lane\n",
        static_cast<unsigned long long>(global.requests), double(global.sectors) / double(global.requests),
        double(global.idealSectors) / double(global.requests), double(global.bytes) / double(global.lanes));
  if (shared.requests)
    text += formatted(
        "shared memory: %llu requests, %.1f wavefronts a request where %.1f would do, %.0f bytes a lane\n",
        static_cast<unsigned long long>(shared.requests), double(shared.wavefronts) / double(shared.requests),
        double(shared.idealWavefronts) / double(shared.requests),
        double(shared.bytes) / double(shared.lanes));
  if (line.other.barriers)
    text +=
        formatted("barriers: %llu arrivals of warps\n", static_cast<unsigned long long>(line.other.barriers));
  if (line.other.divergentBranches)
    text += formatted("branches: %llu of %llu divergent\n",
                      static_cast<unsigned long long>(line.other.divergentBranches),
                      static_cast<unsigned long long>(line.other.branches));
  return text;
}

std::string renderProfile(std::span<const KernelCosts> costs) {
  std::string text;
  for (const KernelCosts &kernel : costs)
    text += (text.empty() ? "" : "\n") + kernelText(kernel);
  return text;
}

} // namespace tegula::ptxvm
