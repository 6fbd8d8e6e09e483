#include "base/Files.h"
#include "ptxvm/simulate/Render.h"

#include <sstream>

namespace tegula::ptxvm {
namespace {

std::string siteText(const Site &site) {
  std::string text = "block (";
  for (size_t i = 0; i < 3; ++i)
    text += (i ? ", " : "") + std::to_string(site.block[i]);
  return text + "), warp " + std::to_string(site.warp) + ", lane " + std::to_string(site.lane);
}

std::string lineOf(const std::string &file, uint32_t line) {
  constexpr uint64_t largestSource = uint64_t(1) << 26; // any path may stand in code
  Result<std::string> source = readFile(file, largestSource);
  std::istringstream stream(source ? *source : "");
  std::string text;
  for (uint32_t i = 0; i < line && std::getline(stream, text); ++i) {
  }
  return stream ? text : "";
}

// The source line under its number, as diagnostics show it.
std::string quoted(const std::string &file, uint32_t line) {
  std::string text = line ? lineOf(file, line) : "";
  return text.empty() ? "" : "  " + std::to_string(line) + " | " + text + "\n";
}

std::string_view trimmed(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t\n"), end = text.find_last_not_of(" \t\n");
  return begin == std::string_view::npos ? "" : text.substr(begin, end - begin + 1);
}

std::string other(const Finding &finding) {
  std::string text = "  the other: " + siteText(*finding.other);
  if (finding.otherSourceLine)
    text += ", " + finding.otherSourceFile + ":" + std::to_string(finding.otherSourceLine);
  text += "\n" + quoted(finding.otherSourceFile, finding.otherSourceLine);
  return text + "    PTX line " + std::to_string(finding.otherPtxLine) + ": " +
         std::string(trimmed(finding.otherPtxText)) + "\n";
}

} // namespace

std::string renderFindings(std::span<const Finding> findings) {
  std::string text;
  for (const Finding &finding : findings) {
    if (finding.sourceLine)
      text += finding.sourceFile + ":" + std::to_string(finding.sourceLine) + ": ";
    text += std::string(name(finding.kind)) + ": " + finding.message + "\n";
    text += quoted(finding.sourceFile, finding.sourceLine);
    text += "  " + siteText(finding.site);
    if (finding.count > 1)
      text += "; " + std::to_string(finding.count) + " times in all";
    text += "\n";
    if (finding.ptxLine)
      text += "    PTX line " + std::to_string(finding.ptxLine) + ": " +
              std::string(trimmed(finding.ptxText)) + "\n";
    if (finding.other)
      text += other(finding);
  }
  return text;
}

} // namespace tegula::ptxvm
