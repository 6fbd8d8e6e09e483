// NVIDIA GPUs, as a launch knows them: a cubin, or PTX for the driver's own assembler, goes to the driver.
#include "compiler/Targets.h"
#include "drivers/cuda/LoadedKernel.h"
#include "drivers/cuda/Memory.h"
#include "drivers/cuda/Timing.h"
#include "targets/nvidia/Assembler.h"

namespace tegula::compiler {
namespace {

constexpr std::string_view ptxPart = "ptx", cubinPart = "cubin";

// The assembler's code; without one the driver's own takes the text.
const std::string &codeOf(const artifact::Artifact &artifact) {
  const std::string *cubin = artifact.part(cubinPart);
  return cubin ? *cubin : *artifact.part(ptxPart);
}

class NvidiaExecutable : public Executable {
public:
  explicit NvidiaExecutable(const artifact::Artifact &artifact)
      : artifact_(artifact),
        kernel_({codeOf(artifact), artifact.launch.entry, artifact.arch, artifact.launch.warps * 32,
                 artifact.launch.sharedBytes, artifact.launch.programs == artifact::Programs::Alone,
                 artifact.launch.isCooperative, artifact.launch.launchesEarly, 2, artifact.launch.copyMaps}) {
  }

  Status launch(std::span<const uint64_t> slots, const runtime::Grid &grid,
                const runtime::Place &place) override {
    return kernel_.launch(slots, grid, place);
  }

  bool canRunTogether() const override { return true; }

  Result<runtime::KernelAttributes> attributes() override {
    const artifact::LaunchData &launch = artifact_.launch;
    if (launch.registers < 0 || launch.spillBytes < 0) {
      Result<runtime::KernelAttributes> found = kernel_.attributes(-1);
      if (found || found.status().code != StatusCode::Driver)
        return found;
      // Compiled for a device that is not here: nobody has counted its registers.
      return runtime::KernelAttributes{int(launch.warps), -1, -1, int64_t(launch.sharedBytes)};
    }
    return runtime::KernelAttributes{int(launch.warps), int(launch.registers), int(launch.spillBytes),
                                     int64_t(launch.sharedBytes) + launch.ownSharedBytes};
  }

  std::vector<std::string> stageNames() const override { return {"simt", "llvm", "ptx", "cubin", "sass"}; }

  const std::string *stage(std::string_view name) const override {
    return name == ptxPart || name == cubinPart ? artifact_.part(name) : nullptr;
  }

private:
  const artifact::Artifact &artifact_;
  cuda::LoadedKernel kernel_;
};

Result<int> count() { return cuda::deviceCount(); }
Result<const runtime::DeviceInfo *> info(int device) { return cuda::deviceInfo(device); }
Result<int> current() { return cuda::currentDevice(); }

} // namespace

const Devices devicesOfNvidia{count,         info,       current,           cuda::allocate,
                              cuda::release, cuda::copy, cuda::synchronize, cuda::time};

std::optional<std::string> identityOfNvidia(const TargetOptions &) {
  return nvidia::identityOfAssembler().value_or("no assembler in a folder");
}

Result<std::unique_ptr<Executable>> loadNvidia(const artifact::Artifact &artifact) {
  if (!artifact.part(ptxPart))
    return Status::error(StatusCode::Data, "the artifact holds no code for this target");
  return std::unique_ptr<Executable>(std::make_unique<NvidiaExecutable>(artifact));
}

} // namespace tegula::compiler
