// tegula run: binds --arg values, launches, saves arrays.
#include "Arguments.h"
#include "Verbs.h"

#include <chrono>
#include <optional>

namespace tegula::cli {
namespace {

// The arrays where the target's kernels reach them: themselves on the host, copies on a device.
class Mirror {
public:
  explicit Mirror(std::string target) : target_(std::move(target)) {}

  // Returns what kept the arrays from getting there.
  std::optional<tg::Error> copyIn(Bound &bound) {
    int32_t devices = 0;
    tg_diagnostics *problems = nullptr;
    if (tg_status status = tg_device_count(target_.c_str(), &devices, &problems))
      return tg::Error(status, problems);
    for (tg_argument &argument : bound.arguments) {
      auto array = bound.arrays.find(argument.name);
      if (devices == 0 || array == bound.arrays.end())
        continue;
      auto memory = tg::Memory::create(target_, array->second.bytes);
      if (!memory)
        return memory.error();
      if (auto copied = memory->copyFrom(array->second.data(), array->second.bytes); !copied)
        return copied.error();
      if (auto descriptor = bound.descriptors.find(argument.name); descriptor != bound.descriptors.end())
        descriptor->second.moveTo(memory->data());
      else
        argument.value.as.address = memory->data();
      copies_.emplace_back(&array->second, *memory);
    }
    return std::nullopt;
  }

  std::optional<tg::Error> copyOut() {
    if (copies_.empty())
      return std::nullopt;
    if (auto done = tg::synchronize(target_); !done)
      return done.error();
    for (auto &[array, memory] : copies_)
      if (auto copied = memory.copyTo(array->data(), array->bytes); !copied)
        return copied.error();
    return std::nullopt;
  }

private:
  std::string target_;
  std::vector<std::pair<Array *, tg::Memory>> copies_;
};

} // namespace

int run(const RunOptions &options) {
  auto grid = gridOf(options.grid);
  if (auto *error = std::get_if<UsageError>(&grid))
    return usage(*error);
  auto opened = open(options.kernel, options.target);
  if (!opened)
    return report(opened.error());
  Bound bound;
  for (const std::string &argument : options.arguments)
    if (int code = cli::bind(bound, argument); code != -1)
      return code;
  Mirror mirror(options.target);
  if (auto error = mirror.copyIn(bound))
    return report(*error);
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
