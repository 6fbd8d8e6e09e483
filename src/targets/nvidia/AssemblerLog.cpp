#include "targets/nvidia/AssemblerLog.h"
#include "base/OverLimit.h"
#include "targets/nvidia/PtxLines.h"

#include "llvm/ADT/Twine.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>

namespace tegula::nvidia {
namespace {

// The number before `word`, or behind `word` when `behind`.
std::optional<long> numberAt(const std::string &line, const std::string &word, bool behind) {
  size_t at = line.find(word);
  if (at == std::string::npos)
    return std::nullopt;
  size_t start = at + word.size();
  if (!behind) {
    start = at;
    while (start && line[start - 1] >= '0' && line[start - 1] <= '9')
      --start;
    if (start == at)
      return std::nullopt;
  }
  return std::strtol(line.c_str() + start, nullptr, 10);
}

} // namespace

std::string errorsIn(const std::string &log) {
  std::string errors, rest;
  for (size_t start = 0; start < log.size();) {
    size_t end = std::min(log.find('\n', start), log.size());
    std::string line = log.substr(start, end - start);
    bool isError = line.find("error") != std::string::npos || line.find("fatal") != std::string::npos;
    (isError ? errors : rest) += "\n  " + line;
    start = end + 1;
  }
  std::string text = errors.empty() ? rest : errors;
  return text.size() > 2000 ? text.substr(0, 2000) + " ..." : text;
}

bool saysTooLarge(const std::string &log) {
  for (const char *sign :
       {"uses too much shared data", "uses too much", "too many registers", "Register allocation failed"})
    if (log.find(sign) != std::string::npos)
      return true;
  return false;
}

std::string limitIn(const std::string &log) {
  constexpr std::string_view sign = "uses too much ";
  size_t at = log.find(sign);
  char name[16];
  unsigned long long required = 0, limit = 0;
  if (at == std::string::npos ||
      std::sscanf(log.c_str() + at + sign.size(), "%15s data (%llx bytes, %llx max)", name, &required,
                  &limit) != 3)
    return "";
  return overLimit(std::string(name) + " memory", required, limit) + "\n";
}

void readUsage(const std::string &log, Assembled &out) {
  // A linker's own line counts what the system keeps for itself, too: the assembler's is better.
  size_t line = log.find("Used ");
  if (line == std::string::npos)
    line = log.find("used ");
  if (line != std::string::npos) {
    std::string usage = log.substr(line, log.find('\n', line) - line);
    out.registers = int(numberAt(usage, "sed ", true).value_or(-1));
    out.sharedBytes = numberAt(usage, " bytes smem", false).value_or(0);
  }
  auto stores = numberAt(log, " bytes spill stores", false),
       loads = numberAt(log, " bytes spill loads", false);
  if (stores && loads)
    out.spillBytes = int(std::max(*stores, *loads));
  if (auto stack = numberAt(log, " bytes stack frame", false))
    out.stackBytes = int(*stack);
}

std::string placeOfError(const std::string &log, const std::string &ptx) {
  size_t error = log.find("; error");
  size_t line = error == log.npos ? log.npos : log.rfind("line ", error);
  std::optional<long> wrong = line == log.npos ? std::nullopt : numberAt(log.substr(line), "line ", true);
  if (!wrong)
    return "";
  // The directive that the line stands under: `.loc FILE LINE COLUMN`. Files are named at the end of the
  // text.
  unsigned file = 0, row = 0, column = 0, atFile = 0;
  long number = 0;
  auto takeNumber = [](llvm::StringRef &text, unsigned &out) {
    text = text.ltrim();
    return !text.consumeInteger(10, out);
  };
  std::string place;
  eachLine(ptx, [&](llvm::StringRef text) {
    if (++number <= *wrong && text.consume_front(".loc"))
      takeNumber(text, file) && takeNumber(text, row) && takeNumber(text, column);
    else if (row && place.empty() && text.consume_front(".file") && takeNumber(text, atFile) &&
             atFile == file)
      // Columns begin at 1; 0 is none.
      place = (text.split('"').second.split('"').first + ":" + llvm::Twine(row) + ":" +
               llvm::Twine(std::max(column, 1u)) + ": ")
                  .str();
  });
  return place;
}

} // namespace tegula::nvidia
