// tegula tune: measures the configurations of a kernel; prints, writes or draws what came of it.
#include "Json.h"
#include "Mirror.h"
#include "Verbs.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include <sys/mman.h>
#include <unistd.h>

namespace tegula::cli {
namespace {

std::string number(double milliseconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", milliseconds);
  return std::isfinite(milliseconds) ? text : "null";
}

std::string jsonOf(const TuneFlags &options, const tg::Tuning &tuning) {
  std::string text = "{\"kernel\": " + json(options.kernel) + ", \"target\": " + json(options.target) +
                     ", \"best\": " + std::to_string(tuning.best()) + ", \"remarks\": [";
  for (const std::string &remark : tuning.remarks())
    text += (text.back() == '[' ? "" : ", ") + json(remark);
  text += "], \"configurations\": [";
  for (const tg::TuningRow &row : tuning.rows())
    text += (text.back() == '[' ? "" : ", ") + ("{\"name\": " + json(row.name)) +
            ", \"milliseconds\": " + number(row.milliseconds) + ", \"low\": " + number(row.low) +
            ", \"high\": " + number(row.high) + ", \"runs\": " + std::to_string(row.runs) +
            ", \"same_as\": " + (row.sameAs < 0 ? "null" : std::to_string(row.sameAs)) +
            ", \"is_kept\": " + (row.isKept ? "true" : "false") + ", \"refusal\": " + json(row.refusal) + "}";
  return text + "]}";
}

std::string noteOf(const tg::TuningRow &row, size_t index, const tg::Tuning &tuning) {
  if (!row.refusal.empty())
    return row.refusal.substr(0, row.refusal.find('\n'));
  std::string note = index == tuning.best() ? "the fastest" : "";
  auto add = [&](const std::string &text) { note += (note.empty() ? "" : ", ") + text; };
  if (row.sameAs >= 0)
    add("the same code as " + tuning.rows()[size_t(row.sameAs)].name);
  else if (row.isKept)
    add("measured before");
  return note;
}

void print(const tg::Tuning &tuning) {
  const std::vector<tg::TuningRow> &rows = tuning.rows();
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {},
                    [&](size_t i) { return std::tuple(rows[i].milliseconds, i != tuning.best(), i); });
  size_t width = 0;
  for (const tg::TuningRow &row : rows)
    width = std::max(width, row.name.size());
  for (size_t i : order) {
    const tg::TuningRow &row = rows[i];
    std::string time = std::isfinite(row.milliseconds) ? number(row.milliseconds) + " ms" : "cannot run";
    std::printf("%14s  %-*s  %s\n", time.c_str(), int(width), row.name.c_str(),
                noteOf(row, i, tuning).c_str());
  }
  for (const std::string &remark : tuning.remarks())
    std::printf("%s\n", remark.c_str());
}

// Python's matplotlib reads the object on its standard input. Returns where that is not there.
int draw(const std::string &path, const std::string &object) {
  std::fflush(stdout);
  int file = ::memfd_create("tuning", 0);
  bool isWritten = file >= 0 && ::write(file, object.data(), object.size()) == ssize_t(object.size()) &&
                   ::lseek(file, 0, SEEK_SET) == 0 && ::dup2(file, STDIN_FILENO) >= 0;
  return isWritten ? runPython("tuning_plot", {path})
                   : report(path, "cannot be drawn: there is no memory", "");
}

} // namespace

int tune(const TuneFlags &options) {
  Prepared prepared(options.target);
  if (int code = prepare(options.kernel, options.target, options.arguments, prepared); code != -1)
    return code;
  auto &[opened, bound, mirror] = prepared;
  tg::TuneSettings settings;
  settings.grid = options.grid;
  settings.configurations = options.configurations;
  settings.memory = mirror.ranges();
  settings.threads = options.threads;
  settings.milliseconds = options.milliseconds;
  settings.forgets = options.forgets;
  settings.showsProgress = true;
  auto tuning = opened->function.tune(bound.arguments, settings);
  if (!tuning)
    return report(tuning.error());
  std::string object = jsonOf(options, *tuning);
  if (options.isJson)
    std::printf("%s\n", object.c_str());
  else
    print(*tuning);
  return options.plot.empty() ? int(ExitOk) : draw(options.plot, object);
}

} // namespace tegula::cli
