// NVIDIA GPUs: PTX from the compiler, a cubin from the assembler, launches through the driver.
// Where there is no assembler the driver's own takes the PTX at the first launch.
#include "compiler/Targets.h"
#include "drivers/cuda/LoadedKernel.h"
#include "drivers/cuda/Memory.h"
#include "ir/tile/Tile.h"
#include "targets/nvidia/Assembler.h"
#include "targets/nvidia/Nvidia.h"
#include "targets/nvidia/Pipeline.h"

#include <mutex>

namespace tegula::compiler {
namespace {

class NvidiaExecutable : public Executable {
public:
  NvidiaExecutable(mlir::ModuleOp module, nvidia::NvidiaOptions options, nvidia::Artifact artifact,
                   Result<nvidia::Assembled> assembled, bool isCooperative)
      : module_(module), options_(std::move(options)), artifact_(std::move(artifact)),
        assembled_(std::move(assembled)),
        kernel_({assembled_ ? assembled_->cubin : artifact_.ptx, artifact_.entry, options_.arch,
                 artifact_.numWarps * 32, artifact_.sharedBytes, isCooperative}) {
    remarks = std::move(artifact_.remarks);
    times = std::move(artifact_.times);
    if (assembled_)
      times.push_back({"assemble", assembled_->milliseconds});
    addUsageRemark();
  }

  Status launch(std::span<const uint64_t> slots, const runtime::Grid &grid,
                const runtime::Place &place) override {
    return kernel_.launch(slots, grid, place);
  }

  Result<runtime::KernelAttributes> attributes() override {
    if (!assembled_ || assembled_->registers < 0 || assembled_->spillBytes < 0) {
      Result<runtime::KernelAttributes> found = kernel_.attributes(-1);
      if (found || found.status().code != StatusCode::Driver)
        return found;
      // Compiled for a device that is not here: nobody has counted its registers.
      return runtime::KernelAttributes{int(artifact_.numWarps), -1, -1, int64_t(artifact_.sharedBytes)};
    }
    return runtime::KernelAttributes{int(artifact_.numWarps), assembled_->registers, assembled_->spillBytes,
                                     int64_t(artifact_.sharedBytes) + assembled_->sharedBytes};
  }

  std::string_view arch() const override { return options_.arch; }
  std::vector<std::string> stageNames() const override { return {"simt", "llvm", "ptx", "cubin", "sass"}; }

  Result<std::string> stage(std::string_view name) override {
    if (name == "ptx")
      return artifact_.ptx;
    if (name == "cubin" || name == "sass") {
      if (!assembled_)
        return assembled_.status();
      return name == "cubin" ? assembled_->cubin : nvidia::disassemble(assembled_->cubin);
    }
    std::lock_guard guard(texts_);
    mlir::OwningOpRef<mlir::ModuleOp> copy = module_.clone();
    Result<nvidia::Artifact> again =
        nvidia::compile(*copy, options_, {.simt = name == "simt", .llvm = name == "llvm"});
    if (!again)
      return again.status();
    return name == "llvm" ? std::move(again->llvm) : std::move(again->simt);
  }

private:
  void addUsageRemark() {
    if (!assembled_ || assembled_->registers < 0)
      return;
    std::string text = std::to_string(assembled_->registers) + " registers a thread, ";
    text += assembled_->spillBytes > 0 ? std::to_string(assembled_->spillBytes) + " bytes of them spilled, "
                                       : "none spilled, ";
    text += std::to_string(artifact_.sharedBytes + uint64_t(assembled_->sharedBytes)) +
            " bytes of shared memory a block of " + std::to_string(artifact_.numWarps) + " warps";
    remarks.push_back({placeOfKernel(), "usage", std::move(text)});
  }

  std::string placeOfKernel() {
    for (mlir::Operation &function : *module_.getBody())
      if (std::string place = tile::locationText(function.getLoc()); !place.empty())
        return place;
    return {};
  }

  mlir::ModuleOp module_;
  nvidia::NvidiaOptions options_;
  nvidia::Artifact artifact_;
  Result<nvidia::Assembled> assembled_; // Unsupported: there is no assembler
  cuda::LoadedKernel kernel_;
  std::mutex texts_;
};

Result<int> count() { return cuda::deviceCount(); }
Result<const runtime::DeviceInfo *> info(int device) { return cuda::deviceInfo(device); }
Result<int> current() { return cuda::currentDevice(); }

} // namespace

const Devices devicesOfNvidia{count,         info,       current,          cuda::allocate,
                              cuda::release, cuda::copy, cuda::synchronize};

Result<std::unique_ptr<Executable>> buildNvidia(mlir::ModuleOp module, const TargetOptions &options) {
  nvidia::prepareToAssemble(options.arch);
  nvidia::NvidiaOptions nvidiaOptions{options.arch, options.numWarps, options.numStages, options.maxRegisters,
                                      options.fusesMultiplyAdd};
  mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
  Result<nvidia::Artifact> artifact = nvidia::compile(*copy, nvidiaOptions, {.looks = options.looks});
  if (!artifact)
    return artifact.status();
  Result<nvidia::Assembled> assembled = nvidia::assemble(artifact->ptx, options.arch);
  if (!assembled && assembled.status().code != StatusCode::Unsupported)
    return assembled.status();
  return std::unique_ptr<Executable>(std::make_unique<NvidiaExecutable>(
      module, std::move(nvidiaOptions), std::move(*artifact), std::move(assembled), options.isCooperative));
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
