// Machine code for this machine's cores, as a launch knows it.
#include "compiler/Targets.h"
#include "runtime/CpuFeatures.h"
#include "runtime/LoadedCode.h"
#include "runtime/Processor.h"

#include <mutex>

namespace tegula::compiler {
namespace {

constexpr std::string_view objectPart = "obj";

class CpuExecutable : public Executable {
public:
  explicit CpuExecutable(const artifact::Artifact &artifact) : artifact_(artifact) {}

  Status launch(std::span<const uint64_t> slots, const runtime::Grid &grid, const runtime::Place &) override {
    if (Status status = load(); !status.ok())
      return status;
    return runtime::launch(loaded_.kernel, slots, grid);
  }

  bool canRunTogether() const override { return true; }

  std::vector<std::string> stageNames() const override { return {"nests", "llvm", "asm", "obj"}; }

  const std::string *stage(std::string_view name) const override {
    return name == objectPart ? artifact_.part(objectPart) : nullptr;
  }

private:
  // Of code for a processor that was named: does this one lack some of its instructions?
  Status checkProcessor() const {
    std::string lacking = runtime::lackingFeatures(artifact_.features);
    if (artifact_.arch.empty() || lacking.empty())
      return Status::success();
    return Status::error(StatusCode::Unsupported, "the kernel was compiled for `" + artifact_.arch +
                                                      "`, and this processor has no " + lacking +
                                                      "; hint: `native` is this machine");
  }

  // Code for another machine is compiled and looked at, and loaded only when it is run.
  Status load() {
    std::call_once(once_, [&] {
      failure_ = checkProcessor();
      if (!failure_.ok())
        return;
      const artifact::LaunchData &launch = artifact_.launch;
      Result<runtime::LoadedKernel> loaded = runtime::loadKernel(*artifact_.part(objectPart), launch.entry,
                                                                 launch.scratchBytes, launch.isCooperative);
      if (loaded)
        loaded_ = std::move(*loaded);
      else
        failure_ = loaded.status();
    });
    return failure_;
  }

  const artifact::Artifact &artifact_;
  std::once_flag once_;
  runtime::LoadedKernel loaded_;
  Status failure_;
};

} // namespace

std::optional<std::string> identityOfCpu(const TargetOptions &options) {
  return options.cpu.empty() ? runtime::processorIdentity() : options.cpu;
}

Result<std::unique_ptr<Executable>> loadCpu(const artifact::Artifact &artifact) {
  if (!artifact.part(objectPart))
    return Status::error(StatusCode::Data, "the artifact holds no code for this target");
  return std::unique_ptr<Executable>(std::make_unique<CpuExecutable>(artifact));
}

} // namespace tegula::compiler
