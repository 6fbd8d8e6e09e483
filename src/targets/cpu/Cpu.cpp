// From a module to an artifact, by the rows of Pipeline.cpp.
#include "targets/cpu/Cpu.h"
#include "pipeline/GivenStage.h"
#include "targets/cpu/Pipeline.h"

#include "codegen/llvm/Recovery.h"
#include "ir/tile/Tile.h"
#include "runtime/CpuFeatures.h"

#include "mlir/IR/OwningOpRef.h"

using namespace mlir;

namespace tegula::cpu {

namespace {

// A copy of a module on its way to optimized LLVM IR.
struct Lowering {
  OwningOpRef<ModuleOp> module;
  CpuUnit unit;
};

// Tile IR -> optimized LLVM IR.
Status lower(ModuleOp module, const CpuOptions &options, const Emit &emit, Lowering &lowering,
             Artifact &artifact) {
  CpuUnit &unit = lowering.unit;
  lowering.module = module.clone();
  unit.module = *lowering.module;
  unit.cpu = options.cpu;
  unit.fusesMultiplyAdd = options.fusesMultiplyAdd;
  unit.libraries = options.libraries;
  if (module.getOps<tile::FuncOp>().empty())
    return Status::error(StatusCode::Internal, "the module has no kernel");
  if (Status status = pipeline::checkGiven(options.given, {"llvm"}); !status.ok())
    return status;
  auto runStage = [&](const char *stage) {
    return pipeline::runStage(rows(), stage, unit, emit.looks, artifact.times);
  };
  if (Status status = runStage("plan"); !status.ok())
    return status;
  if (emit.plan)
    artifact.plan = unit.text();
  if (Status status = runStage("emit"); !status.ok())
    return status;
  if (Status status = runStage("optimize"); !status.ok())
    return status;
  if (codegen::gives(options.given, "llvm"))
    if (Status status = pipeline::readCode(*options.given, unit.symbol, *unit.code); !status.ok())
      return status;
  if (emit.llvm)
    artifact.llvm = unit.text();
  artifact.symbol = unit.symbol;
  artifact.scratchBytes = unit.plan->scratchBytes();
  artifact.remarks = std::move(unit.remarks);
  return {};
}

} // namespace

Result<Artifact> compile(ModuleOp module, const CpuOptions &options, const Emit &emit) {
  Artifact artifact;
  Lowering lowering;
  if (Status status = lower(module, options, emit, lowering, artifact); !status.ok())
    return status;
  Status status = pipeline::runStage(rows(), "codegen", lowering.unit, emit.looks, artifact.times);
  if (!status.ok())
    return status;
  artifact.object = std::move(lowering.unit.object);
  for (std::string_view feature : runtime::cpuFeatures())
    if (codegen::hasFeature(*lowering.unit.code->machine, feature))
      artifact.features.emplace_back(feature);
  return artifact;
}

Result<std::string> assembly(ModuleOp module, const CpuOptions &options) {
  Artifact artifact;
  Lowering lowering;
  if (Status status = lower(module, options, {}, lowering, artifact); !status.ok())
    return status;
  codegen::Code &code = *lowering.unit.code;
  Result<std::string> text = codegen::emitAssembly(*code.module, *code.machine);
  if (!text)
    codegen::abandon(std::move(lowering.unit.code));
  return text;
}

} // namespace tegula::cpu
