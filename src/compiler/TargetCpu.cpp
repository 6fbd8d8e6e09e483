// Machine code for this machine's cores. The texts of the stages are made when they are
// asked for, by compiling a copy of the module again: a launch never pays for them.
#include "compiler/Targets.h"
#include "targets/cpu/Cpu.h"
#include "targets/cpu/Pipeline.h"

#include <mutex>

namespace tegula::compiler {
namespace {

class CpuExecutable : public Executable {
public:
  CpuExecutable(mlir::ModuleOp module, cpu::CpuOptions options, cpu::Artifact artifact)
      : module_(module), options_(std::move(options)), artifact_(std::move(artifact)) {
    remarks = std::move(artifact_.remarks);
    times = std::move(artifact_.times);
  }

  Status launch(std::span<const uint64_t> slots, const runtime::Grid &grid, const runtime::Place &) override {
    if (Status status = load(); !status.ok())
      return status;
    return runtime::launch(loaded_->kernel(), slots, grid);
  }

  std::vector<std::string> stageNames() const override { return {"nests", "llvm", "asm", "obj"}; }

  Result<std::string> stage(std::string_view name) override {
    if (name == "obj")
      return artifact_.object;
    std::lock_guard guard(texts_);
    mlir::OwningOpRef<mlir::ModuleOp> copy = module_.clone();
    if (name == "asm")
      return cpu::assembly(*copy, options_);
    Result<cpu::Artifact> again =
        cpu::compile(*copy, options_, {.llvm = name == "llvm", .plan = name == "nests"});
    if (!again)
      return again.status();
    return name == "llvm" ? std::move(again->llvm) : std::move(again->plan);
  }

private:
  // Code for another machine is compiled and looked at, and loaded only when it is run.
  Status load() {
    std::call_once(once_, [&] {
      Result<std::unique_ptr<cpu::LoadedKernel>> loaded = cpu::load(artifact_);
      if (loaded)
        loaded_ = std::move(*loaded);
      else
        failure_ = loaded.status();
    });
    return failure_;
  }

  mlir::ModuleOp module_;
  cpu::CpuOptions options_;
  cpu::Artifact artifact_;
  std::once_flag once_;
  std::unique_ptr<cpu::LoadedKernel> loaded_;
  Status failure_;
  std::mutex texts_;
};

} // namespace

Result<std::unique_ptr<Executable>> buildCpu(mlir::ModuleOp module, const TargetOptions &options) {
  cpu::CpuOptions cpuOptions{.cpu = options.cpu, .fusesMultiplyAdd = options.fusesMultiplyAdd};
  mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
  Result<cpu::Artifact> artifact = cpu::compile(*copy, cpuOptions, {.looks = options.looks});
  if (!artifact)
    return artifact.status();
  return std::unique_ptr<Executable>(
      std::make_unique<CpuExecutable>(module, std::move(cpuOptions), std::move(*artifact)));
}

Result<PassList> passesOfCpu(const TargetOptions &) {
  return PassList{pipeline::passesOf(cpu::rows(), nullptr), std::make_shared<simt::Machine>()};
}

} // namespace tegula::compiler
