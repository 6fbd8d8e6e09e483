// What a launch asks of a target: load an artifact, this process's or another one's, and run it; its devices.
// The table Targets.def lists the targets; nothing else names them. What a compile asks of one is in
// Builders.h: that needs MLIR and LLVM, and this does not.
#pragma once
#include "artifact/Artifact.h"
#include "base/Status.h"
#include "diag/Diagnostic.h"
#include "runtime/Launch.h"
#include "runtime/Place.h"

#include "pipeline/Pipeline.h"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tegula::compiler {

using pipeline::StageTime;

// The part of every artifact that is the kernel in tile IR, from which all other stages can be made again.
inline constexpr std::string_view tilePart = "tile";

// An artifact, ready to run. Lives beside it.
class Executable {
public:
  virtual ~Executable() = default;
  // One 8-byte slot an argument (runtime::CpuEntry), and a grid without a 0. Safe from several
  // threads. Targets with devices return when the work is queued, others when it is done.
  virtual Status launch(std::span<const uint64_t> slots, const runtime::Grid &grid,
                        const runtime::Place &place) = 0;
  // True if it obeys artifact::LaunchData::isCooperative for grids of several programs.
  virtual bool canRunTogether() const { return false; }
  // What a launch takes of a device.
  virtual Result<runtime::KernelAttributes> attributes() { return runtime::KernelAttributes{}; }
  // The target's own stages, in order.
  virtual std::vector<std::string> stageNames() const = 0;
  // Of those the ones that the artifact holds; null: it is made again from tile IR (Stages in Compiler.h).
  virtual const std::string *stage(std::string_view name) const { return nullptr; }
};

// What a build says besides the artifact.
struct BuildReport {
  std::vector<StageTime> times;
  // Another build of the same would give the same; where it is false, a tool was another one than `identity`
  // says.
  bool isRepeatable = true;
  // A refusal that the next build would meet as well; in words that hold then too.
  std::optional<Status> lasting;
};

struct TargetOptions {
  std::string cpu;  // of targets that are cores; "" and "native" are this machine
  std::string arch; // of targets that are devices; "" is the device of the launch
  int numWarps = 4, numStages = 0;
  int maxRegisters = 0;               // of a thread, on devices; 0: as many as it likes
  bool fusesMultiplyAdd = true;       // a product and the sum that uses it may become one operation (N10)
  bool isCooperative = false;         // a launch runs all programs of its grid at the same time, or fails
  bool launchesEarly = false;         // a launch may begin before the one ahead of it in its stream has ended
  bool isAlone = false;               // each program of a launch has a multiprocessor for itself (Alone.h)
  codegen::ExternLibraries libraries; // of the user, whose functions the kernel may call
  codegen::GivenStage given;          // a stage that a file gives in the place of the one that is made
  const pipeline::Looks *looks = nullptr; // of whoever compiles, while a program is built
};

// All outside of options and compiler that decides what a build makes: the processor, the assembler. nullopt:
// nothing that this target makes is kept on disk.
using Identify = std::optional<std::string> (*)(const TargetOptions &options);
// The artifact lives longer.
using Load = Result<std::unique_ptr<Executable>> (*)(const artifact::Artifact &artifact);

// The target's own passes for such options, in order, and the machine that they ask. Of no architecture where
// the options name none: then all that the target has.
struct PassList {
  std::vector<const pipeline::Pass *> passes;
  std::shared_ptr<const simt::Machine> machine;
};

// The devices of a target that has such. Driver: there is no driver or no device.
struct Devices {
  Result<int> (*count)();
  Result<const runtime::DeviceInfo *> (*info)(int device); // lives on
  Result<int> (*current)();                                // of this thread
  // Its memory. A copy is between any two places and has happened when it returns.
  Result<void *> (*allocate)(int device, size_t bytes);
  Status (*release)(int device, void *memory);
  Status (*copy)(int device, void *to, const void *from, size_t bytes);
  // Waits for what was queued on the place's stream.
  Status (*synchronize)(const runtime::Place &place);
  // The milliseconds of `launch` on the place's stream, `runs` times, each behind a `prepare` whose work is
  // done by then, and with a cache in which nothing of the kernel's is left.
  Result<std::vector<double>> (*time)(const runtime::Place &place, size_t runs,
                                      const std::function<Status()> &prepare,
                                      const std::function<Status()> &launch);
};
#define TARGET(Name, name, text)                                                                             \
  std::optional<std::string> identityOf##Name(const TargetOptions &);                                        \
  Result<std::unique_ptr<Executable>> load##Name(const artifact::Artifact &);
#define DEVICE_TARGET(Name, name, text)                                                                      \
  TARGET(Name, name, text)                                                                                   \
  extern const Devices devicesOf##Name;
#define ARCH_TARGET(Name, name, text)                                                                        \
  TARGET(Name, name, text)                                                                                   \
  const char *archOf##Name();
#include "compiler/Targets.def"
#undef ARCH_TARGET
#undef DEVICE_TARGET
#undef TARGET

struct Target {
  std::string_view name, text;
  Load load;
  Identify identity;
  const Devices *devices; // null: it runs on the cores of this machine
  // Of a target with architectures and no devices: the architecture that is wanted now.
  const char *(*arch)() = nullptr;

  // Does it run programs as blocks of a device's multiprocessors, or stand for one that does?
  bool hasBlocks() const { return devices || arch; }
};
std::span<const Target> targets();
// The target of this name, or of this architecture ("sm_90a"); null where there is none.
const Target *findTarget(std::string_view name);
// The same, with a diagnostic that lists those there are.
const Target *requireTarget(const std::string &name, diag::Sink &sink);

// An architecture as options spell it ("sm90", "sm_90a") -> as the names of targets do. nullopt: the target
// has none such.
std::optional<std::string> archFor(const Target &target, std::string_view text);

// A target and what its name says of the options: "sm_90a" is an architecture of a target.
// `device`: whose architecture is meant when the name says none; -1: the current device's.
// Null after a diagnostic: there is no such target, or no device.
const Target *chooseTarget(const std::string &name, TargetOptions &options, int device, diag::Sink &sink);

// A status's message, and the hint that it may end with behind "; hint: "; empty where it has none.
std::pair<std::string_view, std::string_view> withoutHint(std::string_view message);

// What a target or a driver refused, as a diagnostic of the status's class. A refusal may start with the
// place in the source that it is about, as "FILE:LINE:COLUMN: ", and end with "; hint: " and what to do
// instead.
void reportStatus(const Status &status, std::string_view target, diag::Location place, diag::Sink &sink);

} // namespace tegula::compiler
