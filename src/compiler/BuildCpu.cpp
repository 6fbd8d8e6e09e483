// Machine code for this machine's cores, as it is made. The texts of the stages are made when they are asked
// for, by compiling the tile IR again: a launch never pays for them.
#include "compiler/Builders.h"
#include "targets/cpu/Cpu.h"
#include "targets/cpu/Pipeline.h"

namespace tegula::compiler {
namespace {

constexpr std::string_view objectPart = "obj";

cpu::CpuOptions optionsOf(const TargetOptions &options) {
  return {.cpu = options.cpu,
          .fusesMultiplyAdd = options.fusesMultiplyAdd,
          .libraries = options.libraries,
          .given = options.given};
}

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
  artifact.launch.isCooperative = options.isCooperative;
  artifact.arch = options.cpu;
  artifact.features = std::move(made->features);
  artifact.parts.push_back({std::string(objectPart), std::move(made->object)});
  for (diag::Remark &remark : made->remarks)
    artifact.remarks.push_back({std::move(remark.location), std::move(remark.kind), std::move(remark.text)});
  return Status::success();
}

Result<std::string> stageOfCpu(const artifact::Artifact &, mlir::ModuleOp module,
                               const TargetOptions &options, std::string_view name) {
  if (name == "asm")
    return cpu::assembly(module, optionsOf(options));
  Result<cpu::Artifact> again =
      cpu::compile(module, optionsOf(options), {.llvm = name == "llvm", .plan = name == "nests"});
  if (!again)
    return again.status();
  return name == "llvm" ? std::move(again->llvm) : std::move(again->plan);
}

Result<PassList> passesOfCpu(const TargetOptions &) {
  return PassList{pipeline::passesOf(cpu::rows(), nullptr), std::make_shared<simt::Machine>()};
}

} // namespace tegula::compiler
