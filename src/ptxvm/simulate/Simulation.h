// Checked and counted runs of kernels on memory of this process: what `tegula simulate` and the
// target of the machine stand on. In: options, the memory that kernels may touch, launches. Out:
// findings, costs by source line, bundles that repeat a run. Runs add up; calls may come from
// several threads.
#pragma once
#include "ptxvm/Run.h"
#include "ptxvm/simulate/Costs.h"

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tegula::ptxvm {

struct SimulationOptions {
  Schedule schedule;
  Copies copies = Copies::Late;
  unsigned threads = 0; // 0: the cores; one where the schedule is not round-robin
  bool checks = true;   // races and unwritten memory; the machine's own checks are always on
  bool profile = false;
  uint64_t stepLimit = 0;  // 0: the machine's
  std::string bundle;      // a folder to be written when there are findings
  bool recordsAll = false; // the bundle is written also without
};

// Does a file of this name hold code for the machine?
inline bool isCodeFile(std::string_view path) { return path.ends_with(".ptx"); }

std::optional<Schedule::Kind> scheduleFromName(std::string_view name); // "round-robin", "random", ...
std::string_view name(Schedule::Kind kind);
std::optional<Copies> copiesFromName(std::string_view name); // "late", "at-once", "random"
std::string_view name(Copies copies);

// Without buffers and observers: those are the simulation's.
struct LaunchShape {
  std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  uint64_t sharedBytes = 0;
  std::vector<uint64_t> parameters; // as Launch::parameters
  std::vector<Constants> constants; // as Launch::constants
};

class Simulation {
public:
  explicit Simulation(SimulationOptions options);
  ~Simulation();
  // The simulation at this address; null where none lives there. The address is not read.
  static Simulation *at(void *address);

  // Memory that kernels may touch. Without any, kernels may touch what the process has mapped.
  void addBuffer(Buffer buffer);
  // Not ok: refused, nothing ran. Findings are no failure.
  Status run(std::shared_ptr<const Module> module, std::string_view entry, const LaunchShape &shape);
  // Runs what a bundle holds, on memory of its own.
  Status replay(const std::string &bundle);

  const Progress &progress() const { return progress_; } // from any thread
  const SimulationOptions &options() const { return options_; }
  const std::vector<Finding> &findings() const { return findings_; }
  // For a person: each finding with its places in the source and in the PTX.
  std::string findingsText() const;
  // The kernels' sources with what each line cost; empty without `profile`.
  std::string profileText() const;
  // The same and the findings as one page.
  std::string html() const;
  const std::string &printed() const { return printed_; }
  // A number of what a replay has left in memory: the same for the same bytes.
  uint64_t memoryDigest() const { return digest_; }

private:
  Status runOn(std::shared_ptr<const Module> module, std::string_view entry, const LaunchShape &shape,
               std::span<const Buffer> buffers);

  SimulationOptions options_;
  Progress progress_;
  std::mutex mutex_;
  std::vector<Buffer> buffers_;
  std::vector<std::shared_ptr<const Module>> modules_; // that findings and costs point into
  std::vector<Finding> findings_;
  std::vector<KernelCosts> costs_;
  std::string printed_;
  uint64_t digest_ = 0;
};

} // namespace tegula::ptxvm
