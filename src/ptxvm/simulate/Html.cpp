// One self-contained page: the source coloured by its share of the executed instructions, with the
// costs of each line beside it, and the findings at their lines.
#include "ptxvm/simulate/Render.h"

#include <algorithm>
#include <cmath>

namespace tegula::ptxvm {
namespace {

constexpr std::string_view kHead = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>simulation</title><style>
body{font:14px/1.4 system-ui,sans-serif;margin:2em;color:#222;background:#fff}
table{border-collapse:collapse;font:12px/1.45 ui-monospace,monospace}
td,th{padding:0 .7em;text-align:right;white-space:pre}
td.code,th.code{text-align:left}
tr.finding td.code{outline:2px solid #c00}
pre{background:#f6f6f6;padding:1em;overflow-x:auto}
h2{margin-top:2em}.none{color:#080}.some{color:#c00}
@media (prefers-color-scheme:dark){body{background:#161616;color:#ddd}pre{background:#222}}
</style></head><body>
)";

std::string escaped(std::string_view text) {
  std::string result;
  for (char c : text) {
    switch (c) {
    case '&': result += "&amp;"; break;
    case '<': result += "&lt;"; break;
    case '>': result += "&gt;"; break;
    case '"': result += "&quot;"; break;
    default: result += c;
    }
  }
  return result;
}

std::string cell(uint64_t value) { return "<td>" + (value ? std::to_string(value) : "") + "</td>"; }

std::string excess(uint64_t actual, uint64_t ideal) {
  if (!ideal)
    return "<td></td>";
  uint64_t tenths = (actual * 10 + ideal / 2) / ideal;
  return "<td>" + std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + "</td>";
}

bool hasFinding(std::span<const Finding> findings, const std::string &file, uint32_t line) {
  return std::any_of(findings.begin(), findings.end(), [&](const Finding &f) {
    bool here = f.sourceLine == line && f.sourceFile == file,
         there = f.otherSourceLine == line && f.otherSourceFile == file;
    return here || there || (!f.sourceLine && f.ptxLine == line);
  });
}

std::string row(uint32_t number, const std::string &code, const LineCosts *line, uint64_t total,
                bool isMarked) {
  double share = line && total ? double(line->instructions) / double(total) : 0;
  int strength = int(std::lround(70 * std::sqrt(share)));
  std::string text = isMarked ? "<tr class=\"finding\">" : "<tr>";
  static const LineCosts nothing;
  const LineCosts &c = line ? *line : nothing;
  text += "<td>" + percent(c.instructions, total) + "</td>" + cell(c.instructions) + cell(c.global.sectors) +
          excess(c.global.sectors, c.global.idealSectors) + cell(c.shared.wavefronts) +
          excess(c.shared.wavefronts, c.shared.idealWavefronts) + cell(c.other.barriers);
  text += "<td>" + std::to_string(number) +
          "</td><td class=\"code\" style=\"background:color-mix(in srgb,#f60 " + std::to_string(strength) +
          "%,transparent)\">" + escaped(code) + "</td></tr>\n";
  return text;
}

std::string table(const KernelCosts &costs, const std::string &file,
                  const std::map<uint32_t, LineCosts> &lines, uint64_t total,
                  std::span<const Finding> findings) {
  std::vector<std::string> source = sourceLines(*costs.kernel->module, file);
  std::string text =
      "<h3>" + escaped(file) +
      "</h3>\n<table><tr><th>share</th><th>warp instr.</th><th>sectors</th><th>of ideal</th>"
      "<th>wavefronts</th><th>of ideal</th><th>barriers</th><th></th><th class=\"code\"></th></tr>\n";
  if (lines.empty())
    return text + "</table>\n";
  for (uint32_t number = lines.begin()->first; number <= lines.rbegin()->first; ++number) {
    auto line = lines.find(number);
    bool isCounted = line != lines.end();
    if (!isCounted && number > source.size())
      continue;
    text += row(number, number <= source.size() ? source[number - 1] : "",
                isCounted ? &line->second : nullptr, total, hasFinding(findings, file, number));
  }
  return text + "</table>\n";
}

} // namespace

std::string renderHtml(std::span<const KernelCosts> costs, std::span<const Finding> findings) {
  std::string text(kHead);
  text += findings.empty() ? "<h1>Simulation</h1><p class=\"none\">No findings.</p>\n"
                           : "<h1>Simulation</h1><p class=\"some\">" + std::to_string(findings.size()) +
                                 " findings</p>\n<pre>" + escaped(renderFindings(findings)) + "</pre>\n";
  for (const KernelCosts &kernel : costs) {
    CostsByLine files = costsByLine(kernel);
    LineCosts total = totalOf(files);
    text += "<h2>" + escaped(kernel.kernel->name) + "</h2>\n<pre>" + std::to_string(total.instructions) +
            " warp instructions\n" + escaped(remarksOf(total)) + "</pre>\n";
    for (const auto &[file, lines] : files)
      text += table(kernel, file, lines, total.instructions, findings);
    text += "<h3>Instructions</h3><table>\n";
    for (const auto &[opcode, count] : instructionMix(kernel))
      text += "<tr>" + cell(count) + "<td class=\"code\">" + escaped(opcode) + "</td></tr>\n";
    text += "</table>\n";
  }
  return text + "</body></html>\n";
}

} // namespace tegula::ptxvm
