#include "targets/nvidia/AssemblerLog.h"
#include "base/OverLimit.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

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

// Takes the next number from the front of `text`, behind blanks. nullopt: there is none.
std::optional<unsigned> takeNumber(std::string_view &text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  unsigned number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc())
    return std::nullopt;
  text.remove_prefix(size_t(end - text.data()));
  return number;
}

// A line of PTX without the blanks around it, if it begins with the directive: the rest behind that.
std::optional<std::string_view> behindDirective(std::string_view line, std::string_view directive) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  if (!line.starts_with(directive) || line.size() == directive.size() ||
      (line[directive.size()] != ' ' && line[directive.size()] != '\t'))
    return std::nullopt;
  return line.substr(directive.size());
}

// Calls `visit` with each line and its number from 1, until it returns false.
template <class Visit> void eachLine(std::string_view text, Visit visit) {
  long number = 0;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    if (!visit(text.substr(0, end), ++number))
      return;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
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
  // The directive that the line stands under; files are named at the end of the text.
  std::optional<unsigned> file, row, column;
  eachLine(ptx, [&](std::string_view text, long number) {
    if (auto rest = behindDirective(text, ".loc")) {
      file = takeNumber(*rest), row = takeNumber(*rest), column = takeNumber(*rest);
    } else if (text.starts_with('}')) {
      file.reset();
    }
    return number < *wrong;
  });
  std::string place;
  if (file && row && column)
    eachLine(ptx, [&](std::string_view text, long) {
      auto rest = behindDirective(text, ".file");
      size_t quote = rest && takeNumber(*rest) == file ? rest->find('"') : std::string_view::npos;
      if (quote == std::string_view::npos)
        return true;
      std::string_view path = rest->substr(quote + 1);
      // Columns begin at 1; 0 is none.
      place = std::string(path.substr(0, path.find('"'))) + ":" + std::to_string(*row) + ":" +
              std::to_string(std::max(*column, 1u)) + ": ";
      return false;
    });
  return place;
}

} // namespace tegula::nvidia
