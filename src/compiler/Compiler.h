// A kernel and what is known of its arguments -> a compilation: an artifact, loaded and ready to be launched,
// the texts of its stages, remarks and times. What makes the artifact is behind Core.h.
#pragma once
#include "base/RobustLock.h"
#include "compiler/Targets.h"
#include "diag/Diagnostic.h"
#include "diag/Remark.h"
#include "sema/Sema.h"

#include <atomic>
#include <map>

namespace tegula::compiler {

// The stages of a kernel that its artifact does not hold, made again from its tile IR. Not for two threads.
class Stages {
public:
  virtual ~Stages() = default;
  virtual Result<std::string> text(std::string_view name) = 0;
};

struct CompileOptions {
  std::string target = "cpu";
  TargetOptions targetOptions;
  sema::LanguageOptions language;
  pipeline::Looks looks; // at the kernel between passes
  bool isClosed = false; // a call finds its kernel on disk, or fails
};

// A run-time argument: one slot of a launch.
struct RuntimeArgument {
  std::string name;
  sema::Type type;
  bool written = false; // the kernel may store through this pointer
};

class Compilation {
public:
  const artifact::Artifact &artifact() const { return artifact_; }
  const std::string &kernelName() const { return artifact_.kernel; }
  const std::string &targetName() const { return artifact_.target; }
  // As a target's name; "" where there is one only.
  const std::string &arch() const { return artifact_.arch; }
  const std::vector<RuntimeArgument> &arguments() const { return arguments_; }
  const std::vector<diag::Remark> &remarks() const { return remarks_; }
  const std::vector<StageTime> &times() const { return times_; }

  // "ttir", then the target's own. The text lives as long as this object.
  const std::vector<std::string> &stageNames() const { return stageNames_; }
  Result<std::string_view> stage(std::string_view name);

  // Launch: another number of slots than `arguments()`, or a grid that is none. Runs the code for such
  // launches (Alone.h), compiled here if it is new.
  Status launch(std::span<const uint64_t> slots, const runtime::Grid &grid, const runtime::Place &place = {});
  // Compiles what a launch of such a grid would.
  void prepare(const runtime::Grid &grid, const runtime::Place &place = {}) { (void)codeFor(grid, place); }
  Result<runtime::KernelAttributes> attributes() { return executable_->attributes(); }

private:
  friend std::unique_ptr<Compilation> load(artifact::Artifact, const TargetOptions &, std::vector<StageTime>,
                                           diag::Location, diag::Sink &);
  friend std::unique_ptr<Compilation> findOrCompile(const sema::Request &, const CompileOptions &,
                                                    diag::Sink &);
  explicit Compilation(artifact::Artifact artifact) : artifact_(std::move(artifact)) {}

  Executable &codeFor(const runtime::Grid &grid, const runtime::Place &place);
  void makeOther();

  const artifact::Artifact artifact_; // the others read it
  TargetOptions options_;
  const Target *target_ = nullptr;
  std::unique_ptr<Executable> executable_;
  std::unique_ptr<Stages> stages_; // when one is asked for

  // The code for launches of the other kind, when the first one comes; null: there is none but this one.
  std::atomic<bool> isOtherSought_{false};
  std::unique_ptr<Compilation> other_;
  RobustLock otherLock_;
  std::optional<int64_t> mostAlone_;
  bool isClosed_ = true; // no other code is compiled for it

  bool needsOneProgram_ = false; // the grid is cooperative, and programs run one after another
  std::vector<std::string> stageNames_;
  std::vector<RuntimeArgument> arguments_;
  std::vector<diag::Remark> remarks_;
  std::vector<StageTime> times_;
  RobustLock textLock_;
  std::map<std::string, std::string, std::less<>> texts_;
};

// Null after diagnostics.
std::unique_ptr<Compilation> compile(const sema::Request &request, const CompileOptions &options,
                                     diag::Sink &sink);

// The two halves of it. `build` fills the artifact all but for key and answers; a target's own refusal is its
// status and no diagnostic yet, all others are diagnostics and Type.
struct Built {
  artifact::Artifact artifact;
  BuildReport report;
};
Status build(const sema::Request &request, const Target &target, const TargetOptions &options, Built &built,
             diag::Sink &sink);
// `options` are those of the build. Null after diagnostics at `place`.
std::unique_ptr<Compilation> load(artifact::Artifact artifact, const TargetOptions &options,
                                  std::vector<StageTime> times, diag::Location place, diag::Sink &sink);

// A target and its options as a compile takes them; null after diagnostics.
const Target *prepare(const sema::Request &request, const CompileOptions &options,
                      TargetOptions &targetOptions, diag::Sink &sink);

// A block of so many warps, a power of two, does not fit: a limit of the machine, which tuners skip.
void reportTooManyWarps(int64_t warps, std::string_view target, diag::Location place, diag::Sink &sink);

} // namespace tegula::compiler
