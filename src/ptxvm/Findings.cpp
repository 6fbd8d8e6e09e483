// The list of findings; places become lines and texts when a finding is first added.
#include "ptxvm/Findings.h"
#include "ptxvm/Ptx.h"

#include <algorithm>

namespace tegula::ptxvm {
namespace {

struct Row {
  std::string_view name, meaning;
};
constexpr Row rows[] = {
#define FINDING(Enum, text, meaning) {text, meaning},
#include "ptxvm/Findings.def"
#undef FINDING
};

void describe(const PtxKernel &kernel, const Site &site, uint32_t &line, std::string &text, std::string &file,
              uint32_t &sourceLine) {
  if (site.instruction >= kernel.instructions.size())
    return;
  const Instruction &instruction = kernel.instructions[site.instruction];
  line = instruction.line;
  text = std::string(instruction.text);
  file = std::string(kernel.sourceFile(site.instruction));
  sourceLine = kernel.sourceLine(site.instruction);
}

void setOther(const PtxKernel &kernel, Finding &finding, const std::optional<Site> &other) {
  finding.other = other;
  if (other)
    describe(kernel, *other, finding.otherPtxLine, finding.otherPtxText, finding.otherSourceFile,
             finding.otherSourceLine);
}

} // namespace

std::string_view name(FindingKind kind) { return rows[size_t(kind)].name; }
std::string_view meaning(FindingKind kind) { return rows[size_t(kind)].meaning; }

void Findings::add(FindingKind kind, std::string message, const Site &site, std::optional<Site> other) {
  std::lock_guard lock(mutex_);
  for (Finding &finding : list_)
    if (finding.kind == kind && finding.site.instruction == site.instruction) {
      ++finding.count;
      // The same whichever worker was first: the lowest block's is kept.
      auto key = [](const Site &p) { return std::array{p.block[2], p.block[1], p.block[0], p.warp, p.lane}; };
      if (key(site) < key(finding.site)) {
        finding.message = std::move(message);
        finding.site = site;
        setOther(kernel_, finding, other);
      }
      return;
    }
  Finding finding;
  finding.kind = kind;
  finding.message = std::move(message);
  finding.site = site;
  describe(kernel_, site, finding.ptxLine, finding.ptxText, finding.sourceFile, finding.sourceLine);
  setOther(kernel_, finding, other);
  list_.push_back(std::move(finding));
}

std::vector<Finding> Findings::take() {
  std::lock_guard lock(mutex_);
  std::sort(list_.begin(), list_.end(), [](const Finding &a, const Finding &b) {
    return std::pair(a.site.instruction, a.kind) < std::pair(b.site.instruction, b.kind);
  });
  return std::move(list_);
}

bool Findings::any() const {
  std::lock_guard lock(mutex_);
  return !list_.empty();
}

} // namespace tegula::ptxvm
