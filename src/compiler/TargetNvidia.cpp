// NVIDIA GPUs: PTX from the compiler, a cubin from the assembler, launches through the driver.
// Where there is no assembler the driver's own takes the PTX at the first launch.
#include "compiler/Ptx.h"
#include "drivers/cuda/LoadedKernel.h"
#include "drivers/cuda/Memory.h"
#include "drivers/cuda/Timing.h"
#include "ir/tile/Tile.h"
#include "targets/nvidia/Assembler.h"
#include "targets/nvidia/Pipeline.h"

namespace tegula::compiler {
namespace {

constexpr std::string_view ptxPart = "ptx", cubinPart = "cubin";

nvidia::NvidiaOptions optionsOf(const TargetOptions &options) {
  return {options.arch,         options.numWarps,         options.numStages,
          options.maxRegisters, options.fusesMultiplyAdd, options.libraries};
}

// The assembler's code; without one the driver's own takes the text.
const std::string &codeOf(const artifact::Artifact &artifact) {
  const std::string *cubin = artifact.part(cubinPart);
  return cubin ? *cubin : *artifact.part(ptxPart);
}

class NvidiaExecutable : public Executable {
public:
  NvidiaExecutable(const artifact::Artifact &artifact, KeptModule &module, nvidia::NvidiaOptions options)
      : artifact_(artifact), module_(module), options_(std::move(options)),
        kernel_({codeOf(artifact), artifact.launch.entry, artifact.arch, artifact.launch.warps * 32,
                 artifact.launch.sharedBytes, artifact.launch.isCooperative, artifact.launch.launchesEarly, 2,
                 artifact.launch.copyMaps}) {}

  Status launch(std::span<const uint64_t> slots, const runtime::Grid &grid,
                const runtime::Place &place) override {
    return kernel_.launch(slots, grid, place);
  }

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

  Result<std::string> stage(std::string_view name) override {
    if (name == ptxPart)
      return *artifact_.part(ptxPart);
    if (name == cubinPart || name == "sass") {
      Result<std::string> cubin = this->cubin();
      return !cubin || name == cubinPart ? cubin : nvidia::disassemble(*cubin);
    }
    std::lock_guard guard(module_.mutex);
    Result<mlir::ModuleOp> module = module_.get();
    if (!module)
      return module.status();
    mlir::OwningOpRef<mlir::ModuleOp> copy = module->clone();
    Result<nvidia::Artifact> again =
        nvidia::compile(*copy, options_, {.simt = name == "simt", .llvm = name == "llvm"});
    if (!again)
      return again.status();
    return name == "llvm" ? std::move(again->llvm) : std::move(again->simt);
  }

private:
  // If there was no assembler: the reason, unless there is one now.
  Result<std::string> cubin() {
    if (const std::string *cubin = artifact_.part(cubinPart))
      return *cubin;
    Result<nvidia::Assembled> assembled = nvidia::assemble(*artifact_.part(ptxPart), artifact_.arch);
    return assembled ? Result(std::move(assembled->cubin)) : assembled.status();
  }

  const artifact::Artifact &artifact_;
  KeptModule &module_;
  nvidia::NvidiaOptions options_;
  cuda::LoadedKernel kernel_;
};

std::string placeOfKernel(mlir::ModuleOp module) {
  for (mlir::Operation &function : *module.getBody())
    if (std::string place = tile::locationText(function.getLoc()); !place.empty())
      return place;
  return {};
}

std::string describeUsage(const nvidia::Assembled &assembled, const artifact::LaunchData &launch) {
  std::string text = std::to_string(assembled.registers) + " registers a thread, ";
  text += assembled.spillBytes > 0 ? std::to_string(assembled.spillBytes) + " bytes of them spilled, "
                                   : "none spilled, ";
  return text + std::to_string(launch.sharedBytes + uint64_t(assembled.sharedBytes)) +
         " bytes of shared memory a block of " + std::to_string(launch.warps) + " warps";
}

Result<int> count() { return cuda::deviceCount(); }
Result<const runtime::DeviceInfo *> info(int device) { return cuda::deviceInfo(device); }
Result<int> current() { return cuda::currentDevice(); }

} // namespace

const Devices devicesOfNvidia{count,         info,       current,           cuda::allocate,
                              cuda::release, cuda::copy, cuda::synchronize, cuda::time};

Status buildNvidia(mlir::ModuleOp module, const TargetOptions &options, artifact::Artifact &artifact,
                   BuildReport &report) {
  nvidia::prepareToAssemble(options.arch);
  if (Status status = buildPtx(module, optionsOf(options), options.looks, artifact, report); !status.ok())
    return status;
  artifact::LaunchData &launch = artifact.launch;
  launch.isCooperative = options.isCooperative;
  // One that does not wait for the launch ahead of it would read what that has not written yet.
  launch.launchesEarly =
      options.launchesEarly && artifact.part(ptxPart)->find("griddepcontrol.wait") != std::string::npos;
  Result<nvidia::Assembled> assembled =
      nvidia::assemble(*artifact.part(ptxPart), options.arch, &report.lasting);
  if (!assembled && assembled.status().code == StatusCode::Unsupported)
    return Status::success(); // there is no assembler
  if (!assembled)
    return assembled.status();
  // A worker that was started before the environment changed has the tool of then.
  report.isRepeatable = nvidia::identityOfTool(assembled->tool) == nvidia::identityOfAssembler();
  report.times.push_back({"assemble", assembled->milliseconds});
  launch.registers = assembled->registers;
  launch.spillBytes = assembled->spillBytes;
  launch.ownSharedBytes = assembled->sharedBytes;
  if (assembled->registers >= 0)
    artifact.remarks.push_back({placeOfKernel(module), "usage", describeUsage(*assembled, launch)});
  artifact.parts.push_back({std::string(cubinPart), std::move(assembled->cubin)});
  return Status::success();
}

Status buildPtx(mlir::ModuleOp module, const nvidia::NvidiaOptions &options, const pipeline::Looks *looks,
                artifact::Artifact &artifact, BuildReport &report) {
  mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
  Result<nvidia::Artifact> made = nvidia::compile(*copy, options, {.looks = looks});
  if (!made) {
    if (made.status().code == StatusCode::Resource)
      report.lasting = made.status();
    return made.status();
  }
  std::move(made->times.begin(), made->times.end(), std::back_inserter(report.times));
  artifact.launch.entry = std::move(made->entry);
  artifact.launch.warps = made->numWarps;
  artifact.launch.sharedBytes = made->sharedBytes;
  artifact.launch.copyMaps = std::move(made->copyMaps);
  artifact.parts.push_back({std::string(ptxPart), std::move(made->ptx)});
  for (diag::Remark &remark : made->remarks)
    artifact.remarks.push_back({std::move(remark.location), std::move(remark.kind), std::move(remark.text)});
  return Status::success();
}

std::optional<std::string> identityOfNvidia(const TargetOptions &) {
  return nvidia::identityOfAssembler().value_or("no assembler in a folder");
}

Result<std::unique_ptr<Executable>> loadNvidia(const artifact::Artifact &artifact, KeptModule &module,
                                               const TargetOptions &options) {
  if (!artifact.part(ptxPart))
    return Status::error(StatusCode::Data, "the artifact holds no code for this target");
  return std::unique_ptr<Executable>(
      std::make_unique<NvidiaExecutable>(artifact, module, optionsOf(options)));
}

Result<PassList> passesOfNvidia(const TargetOptions &options) {
  if (options.arch.empty())
    return PassList{pipeline::passesOf(nvidia::rows(), nullptr), std::make_shared<simt::Machine>()};
  Result<nvidia::Architecture> architecture = nvidia::findArchitecture(options.arch);
  if (!architecture)
    return architecture.status();
  auto machine = std::make_shared<nvidia::NvidiaMachine>(*architecture);
  return PassList{pipeline::passesOf(nvidia::rows(), machine.get()), machine};
}

} // namespace tegula::compiler
