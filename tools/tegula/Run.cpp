// tegula run: binds --arg values, launches, saves arrays.
#include "Arguments.h"
#include "Mirror.h"
#include "Verbs.h"

#include <chrono>

namespace tegula::cli {
int run(const RunOptions &options) {
  auto grid = gridOf(options.grid);
  if (auto *error = std::get_if<UsageError>(&grid))
    return usage(*error);
  Prepared prepared(options.target);
  if (int code = prepare(options.kernel, options.target, options.arguments, prepared); code != -1)
    return code;
  auto &[opened, bound, mirror] = prepared;
  if (int code = checkSaves(bound, options.saves); code != -1)
    return code;
  auto start = std::chrono::steady_clock::now();
  auto kernel = opened->function.callWith(std::get<0>(grid), bound.arguments);
  if (!kernel)
    return report(kernel.error());
  reportWarnings(*kernel);
  if (auto error = mirror.copyOut())
    return report(*error);
  double milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  if (!options.isQuiet) {
    double compileTime = 0;
    for (const auto &[stage, time] : kernel->times())
      compileTime += time;
    std::printf("ran %s on %s: grid (%s), compiled in %.1f ms, %.1f ms in all\n",
                opened->function.name().c_str(), kernel->target().c_str(), options.grid.c_str(), compileTime,
                milliseconds);
    std::fflush(stdout);
  }
  for (const std::string &text : options.saves)
    if (int code = save(bound, text, options.isQuiet); code != ExitOk)
      return code;
  return ExitOk;
}

} // namespace tegula::cli
