// tegula simulate: runs a kernel, or any PTX file, in a simulation, and prints what it found.
#include "Arguments.h"
#include "Verbs.h"
#include "base/Files.h"

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <iostream>
#include <mutex>
#include <thread>

namespace tegula::cli {
namespace {

// Says now and then on the standard error how far a long run is, until it goes.
class ProgressLines {
public:
  ProgressLines(const tg::Simulation &simulation, bool isQuiet) : simulation_(simulation) {
    if (!isQuiet)
      thread_ = std::thread([this] { speak(); });
  }
  ~ProgressLines() {
    {
      std::lock_guard lock(mutex_);
      isOver_ = true;
    }
    over_.notify_one();
    if (thread_.joinable())
      thread_.join();
  }
  ProgressLines(const ProgressLines &) = delete;

private:
  static std::string withCommas(uint64_t number) {
    std::string text = std::to_string(number);
    for (size_t at = text.size(); at > 3;)
      text.insert(at -= 3, ",");
    return text;
  }
  void speak() {
    constexpr std::chrono::seconds first{5}, later{10};
    std::unique_lock lock(mutex_);
    for (auto pause = first; !over_.wait_for(lock, pause, [this] { return isOver_; }); pause = later) {
      tg::Simulation::Progress now = simulation_.progress();
      if (!now.blocks)
        continue; // still compiling
      std::cerr << "simulating: " + withCommas(now.steps) + " steps of warps, " + withCommas(now.done) +
                       " of " + withCommas(now.blocks) + " programs done" +
                       (pause == first ? "; --steps N ends a program behind N steps\n" : "\n");
    }
  }

  const tg::Simulation &simulation_;
  std::mutex mutex_;
  std::condition_variable over_;
  bool isOver_ = false;
  std::thread thread_;
};

struct Path {
  std::string file, entry;
};

Path split(const std::string &kernel) {
  size_t separator = kernel.rfind("::");
  return {kernel.substr(0, separator), separator == std::string::npos ? "" : kernel.substr(separator + 2)};
}

// Up to three extents; -1: done, else an exit code.
int readExtents(const std::string &option, const std::string &text, uint32_t (&out)[3]) {
  auto extents = gridOf(text);
  if (auto *error = std::get_if<UsageError>(&extents))
    return usage(*error);
  std::fill_n(out, 3, 1u);
  const std::vector<int64_t> &list = std::get<0>(extents);
  for (size_t i = 0; i != list.size(); ++i) {
    if (i == 3 || list[i] < 0 || list[i] > INT32_MAX)
      return usage(
          {option + " takes 1 to 3 extents from 0 to 2147483647", "write " + option + " X, X,Y or X,Y,Z"});
    out[i] = uint32_t(list[i]);
  }
  return -1;
}

void addArrays(const tg::Simulation &simulation, Bound &bound) {
  for (auto &[name, array] : bound.arrays)
    simulation.addMemory(array.data(), array.bytes, name);
}

int runCode(const SimulateOptions &options, const tg::Simulation &simulation, Bound &bound) {
  Path path = split(options.kernel);
  constexpr uint64_t largestCode = uint64_t(1) << 30;
  Result<std::string> code = readGivenFile(path.file, largestCode);
  if (!code)
    return report(path.file, "cannot be read: " + code.status().message,
                  "check the path and its permissions");
  tg_simulation_launch launch{};
  if (int exit = readExtents("--grid", options.grid, launch.grid); exit != -1)
    return exit;
  if (int exit = readExtents("--block", options.block.empty() ? "1" : options.block, launch.block);
      exit != -1)
    return exit;
  for (size_t i = 0; i != options.arguments.size(); ++i)
    if (int exit = cli::bind(bound, std::to_string(i) + "=" + options.arguments[i]); exit != -1)
      return exit;
  if (int exit = checkSaves(bound, options.saves); exit != -1)
    return exit;
  addArrays(simulation, bound);
  std::vector<tg_value> values;
  for (const tg_argument &argument : bound.arguments)
    values.push_back(argument.value);
  launch.path = path.file.c_str();
  launch.text = code->data();
  launch.size = code->size();
  launch.entry = path.entry.c_str();
  launch.shared_bytes = options.sharedBytes.value_or(0);
  launch.arguments = values.data();
  launch.count = values.size();
  auto done = simulation.run(launch);
  return done ? -1 : report(done.error());
}

int runKernel(const SimulateOptions &options, const tg::Simulation &simulation, Bound &bound) {
  auto grid = gridOf(options.grid);
  if (auto *error = std::get_if<UsageError>(&grid))
    return usage(*error);
  auto opened = open(options.kernel, "ptxvm");
  if (!opened)
    return report(opened.error());
  for (const std::string &argument : options.arguments)
    if (int exit = cli::bind(bound, argument); exit != -1)
      return exit;
  if (int exit = checkSaves(bound, options.saves); exit != -1)
    return exit;
  addArrays(simulation, bound);
  auto kernel = opened->function.callWith(std::get<0>(grid), bound.arguments, nullptr, simulation.place());
  if (!kernel) // findings are told at the end, all of them
    return simulation.findingCount() ? -1 : report(kernel.error());
  reportWarnings(*kernel);
  return -1;
}

int tell(const SimulateOptions &options, const tg::Simulation &simulation) {
  std::cout << simulation.text("printed");
  if (options.showsProfile)
    std::cout << simulation.text("profile");
  if (!options.html.empty())
    if (int exit = put(options.html, {simulation.text("html")}); exit != -1)
      return exit;
  size_t count = simulation.findingCount();
  if (count)
    std::cerr << simulation.text("findings") << count << (count == 1 ? " finding\n" : " findings\n");
  else if (!options.isQuiet)
    std::cout << "no findings\n";
  if (!options.replay.empty() && !options.isQuiet)
    std::cout << "memory after the run: " << simulation.text("memory") << "\n";
  if (count && !options.bundle.empty())
    std::cerr << "to repeat: tegula simulate --replay " << options.bundle << "\n";
  return count ? ExitFindings : ExitOk;
}

// Options that would be read by nobody, and a bundle over the files of somebody; -1: there are none.
int checkOptions(const SimulateOptions &options, bool isCode) {
  if (options.kernel.empty() == options.replay.empty())
    return usage({"simulate takes a kernel or --replay BUNDLE",
                  "write tegula simulate FILE.py::KERNEL --grid X --arg ..."});
  if (!options.replay.empty() &&
      !(options.arguments.empty() && options.saves.empty() && options.bundle.empty()))
    return usage({"--replay takes no --arg, --save and --bundle", "the bundle has the arguments of its run"});
  if (!isCode && (!options.block.empty() || options.sharedBytes))
    return usage({"--block and --shared are of a .ptx file",
                  "a kernel's block and shared memory are the compiler's choice: take the option off"});
  if (options.recordsAll && options.bundle.empty())
    return usage({"--record has no folder to write", "name one with --bundle"});
  std::error_code error;
  if (!options.bundle.empty() && std::filesystem::exists(options.bundle, error) &&
      !std::filesystem::is_empty(options.bundle, error))
    return report(options.bundle, "something is there, and a bundle would be written over it",
                  "name a new folder in --bundle");
  return -1;
}

int runOne(const SimulateOptions &options, const tg::Simulation &simulation, bool isCode, Bound &bound) {
  ProgressLines progress(simulation, options.isQuiet);
  if (!options.replay.empty()) {
    auto done = simulation.replay(options.replay);
    return done ? -1 : report(done.error());
  }
  return isCode ? runCode(options, simulation, bound) : runKernel(options, simulation, bound);
}

} // namespace

int simulate(const SimulateOptions &options) {
  bool isCode = split(options.kernel).file.ends_with(".ptx");
  if (int code = checkOptions(options, isCode); code != -1)
    return code;
  tg::SimulationOptions wanted{options.schedule,   options.bundle,
                               options.seed,       options.stepLimit,
                               options.threads,    options.showsProfile || !options.html.empty(),
                               options.recordsAll, options.copies};
  auto simulation = tg::Simulation::create(wanted);
  if (!simulation)
    return report(simulation.error());
  Bound bound;
  int exit = runOne(options, *simulation, isCode, bound);
  if (exit != -1)
    return exit;
  for (const std::string &text : options.saves)
    if (int code = save(bound, text, options.isQuiet); code != ExitOk)
      return code;
  return tell(options, *simulation);
}

} // namespace tegula::cli
