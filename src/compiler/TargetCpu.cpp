// Machine code for this machine's cores. The texts of the stages are made when they are asked for, by
// compiling a copy of the kept module again: a launch never pays for them.
#include "codegen/llvm/Target.h"
#include "compiler/Targets.h"
#include "runtime/LoadedCode.h"
#include "targets/cpu/Cpu.h"
#include "targets/cpu/Pipeline.h"

#include <mutex>

namespace tegula::compiler {
namespace {

constexpr std::string_view objectPart = "obj";

cpu::CpuOptions optionsOf(const TargetOptions &options) {
  return {.cpu = options.cpu, .fusesMultiplyAdd = options.fusesMultiplyAdd, .libraries = options.libraries};
}

class CpuExecutable : public Executable {
public:
  CpuExecutable(const artifact::Artifact &artifact, KeptModule &module, cpu::CpuOptions options)
      : artifact_(artifact), module_(module), options_(std::move(options)) {}

  Status launch(std::span<const uint64_t> slots, const runtime::Grid &grid, const runtime::Place &) override {
    if (Status status = load(); !status.ok())
      return status;
    return runtime::launch(loaded_.kernel, slots, grid);
  }

  std::vector<std::string> stageNames() const override { return {"nests", "llvm", "asm", "obj"}; }

  Result<std::string> stage(std::string_view name) override {
    if (name == objectPart)
      return *artifact_.part(objectPart);
    std::lock_guard guard(module_.mutex);
    Result<mlir::ModuleOp> module = module_.get();
    if (!module)
      return module.status();
    mlir::OwningOpRef<mlir::ModuleOp> copy = module->clone();
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
      const artifact::LaunchData &launch = artifact_.launch;
      Result<runtime::LoadedKernel> loaded =
          runtime::loadKernel(*artifact_.part(objectPart), launch.entry, launch.scratchBytes);
      if (loaded)
        loaded_ = std::move(*loaded);
      else
        failure_ = loaded.status();
    });
    return failure_;
  }

  const artifact::Artifact &artifact_;
  KeptModule &module_;
  cpu::CpuOptions options_;
  std::once_flag once_;
  runtime::LoadedKernel loaded_;
  Status failure_;
};

} // namespace

Status buildCpu(mlir::ModuleOp module, const TargetOptions &options, artifact::Artifact &artifact,
                BuildReport &report) {
  mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
  Result<cpu::Artifact> made = cpu::compile(*copy, optionsOf(options), {.looks = options.looks});
  if (!made) {
    if (made.status().code == StatusCode::Resource)
      report.lasting = made.status();
    return made.status();
  }
  std::move(made->times.begin(), made->times.end(), std::back_inserter(report.times));
  artifact.launch.entry = std::move(made->symbol);
  artifact.launch.scratchBytes = made->scratchBytes;
  artifact.arch = options.cpu;
  artifact.features = std::move(made->features);
  artifact.parts.push_back({std::string(objectPart), std::move(made->object)});
  for (diag::Remark &remark : made->remarks)
    artifact.remarks.push_back({std::move(remark.location), std::move(remark.kind), std::move(remark.text)});
  return Status::success();
}

std::optional<std::string> identityOfCpu(const TargetOptions &options) {
  return codegen::machineIdentity(options.cpu);
}

Result<std::unique_ptr<Executable>> loadCpu(const artifact::Artifact &artifact, KeptModule &module,
                                            const TargetOptions &options) {
  if (!artifact.part(objectPart))
    return Status::error(StatusCode::Data, "the artifact holds no code for this target");
  return std::unique_ptr<Executable>(std::make_unique<CpuExecutable>(artifact, module, optionsOf(options)));
}

Result<PassList> passesOfCpu(const TargetOptions &) {
  return PassList{pipeline::passesOf(cpu::rows(), nullptr), std::make_shared<simt::Machine>()};
}

} // namespace tegula::compiler
