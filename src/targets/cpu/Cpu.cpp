// From a module to an artifact, by the rows of Pipeline.cpp; and the artifact loaded into this process.
#include "targets/cpu/Cpu.h"
#include "targets/cpu/Pipeline.h"

#include "codegen/llvm/Recovery.h"
#include "ir/tile/Tile.h"
#include "runtime/Report.h"

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
  if (module.getOps<tile::FuncOp>().empty())
    return Status::error(StatusCode::Internal, "the module has no kernel");
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
  if (emit.llvm)
    artifact.llvm = unit.text();
  artifact.symbol = unit.symbol;
  artifact.scratchBytes = unit.plan->scratchBytes();
  artifact.remarks = std::move(unit.remarks);
  return {};
}

class OrcKernel : public LoadedKernel {
public:
  OrcKernel(std::unique_ptr<codegen::LoadedObject> object, runtime::CpuKernel kernel)
      : object_(std::move(object)), kernel_(kernel) {}
  runtime::CpuKernel kernel() const override { return kernel_; }

private:
  std::unique_ptr<codegen::LoadedObject> object_;
  runtime::CpuKernel kernel_;
};

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

Result<std::unique_ptr<LoadedKernel>> load(const Artifact &artifact) {
  auto object = codegen::loadObject(
      artifact.object,
      {{"tegula_assertion_failed", reinterpret_cast<void *>(&runtime::tegula_assertion_failed)},
       {"tegula_print", reinterpret_cast<void *>(&runtime::tegula_print)}});
  if (!object)
    return object.status();
  void *entry = (*object)->address(artifact.symbol);
  if (!entry)
    return Status::error(StatusCode::Internal, "the object lacks its entry " + artifact.symbol);
  runtime::CpuKernel kernel{reinterpret_cast<runtime::CpuEntry>(entry), artifact.scratchBytes};
  return std::unique_ptr<LoadedKernel>(std::make_unique<OrcKernel>(std::move(*object), kernel));
}

} // namespace tegula::cpu
