// The pipeline of this target, one stage after the other, and nothing else.
#include "targets/cpu/Cpu.h"

#include "analysis/Nests.h"
#include "codegen/llvm/Arithmetic.h"
#include "codegen/llvm/Recovery.h"
#include "codegen/llvm/Target.h"
#include "ir/tile/Tile.h"
#include "runtime/Report.h"
#include "targets/cpu/Ops.h"
#include "targets/cpu/ProgramEmitter.h"
#include "transforms/MarkVolatileStores.h"
#include "transforms/SplitLoopCarriedOffsets.h"

#include "mlir/Transforms/Passes.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/MCSubtargetInfo.h"

#include <chrono>

using namespace mlir;
using namespace tegula::tile;

namespace tegula::cpu {

namespace {

class Stopwatch {
public:
  double lap() {
    auto now = std::chrono::steady_clock::now();
    double milliseconds = std::chrono::duration<double, std::milli>(now - last_).count();
    last_ = now;
    return milliseconds;
  }

private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

CpuModel describe(const llvm::TargetMachine &machine) {
  CpuModel result;
  const llvm::MCSubtargetInfo *info = machine.getMCSubtargetInfo();
  bool avx512 = info->checkFeatures("+avx512f,+avx512bw,+avx512dq,+avx512vl");
  bool avx2 = info->checkFeatures("+avx2");
  result.vectorBytes = avx512 ? 64 : avx2 ? 32 : 16;
  result.hasFma = info->checkFeatures("+fma");
  return result;
}

struct Lowered {
  std::unique_ptr<llvm::LLVMContext> context; // destroyed last
  std::unique_ptr<llvm::Module> module;
  std::unique_ptr<llvm::TargetMachine> machine;
};

// tile IR -> optimized LLVM IR.
Result<std::shared_ptr<Lowered>> lower(ModuleOp input, const CpuOptions &options, const Emit &emit,
                                       Artifact &artifact) {
  Stopwatch watch;
  OwningOpRef<ModuleOp> module = input.clone();
  auto functions = module->getOps<FuncOp>();
  if (functions.empty())
    return Status::error(StatusCode::Internal, "the module has no kernel");
  FuncOp function = *functions.begin();
  if (Status status = checkLegality(function); !status.ok())
    return status;

  transforms::markVolatileStores(function);
  transforms::splitLoopCarriedOffsets(function);
  PassManager passes(module->getContext());
  passes.addPass(createCSEPass());           // equal addresses become equal values
  passes.addPass(createCanonicalizerPass()); // carried values that nothing changes disappear
  passes.addPass(createLoopInvariantCodeMotionPass());
  if (failed(passes.run(*module)))
    return Status::error(StatusCode::Internal, "tile IR does not verify after clean-up");

  if (Status status = checkLegality(function); !status.ok()) // what passes made, too
    return status;

  analysis::AccessAnalysis access;
  analysis::NestPlan plan = analysis::planNests(function, access);
  if (emit.plan)
    artifact.plan = analysis::print(function, plan);
  artifact.times.plan = watch.lap();

  auto machine = codegen::makeHostMachine(options.cpu);
  if (!machine)
    return machine.status();
  auto state = std::make_shared<Lowered>(std::make_unique<llvm::LLVMContext>(), nullptr, std::move(*machine));
  Lowered &lowered = *state;
  lowered.module = std::make_unique<llvm::Module>(function.getSymName(), *lowered.context);
  lowered.module->setTargetTriple(lowered.machine->getTargetTriple());
  lowered.module->setDataLayout(lowered.machine->createDataLayout());
  CpuModel description = describe(*lowered.machine);
  if (uint64_t cache = options.cpu.empty() ? codegen::hostCacheBytes() : 0)
    description.cacheBytes = cache;
  artifact.symbol = "tegula_" + function.getSymName().str();
  ProgramEmitter program(*lowered.module, description, plan, access, artifact.remarks);
  for (const analysis::Decision &decision : plan.decisions())
    program.remark(decision.op, decision.kind, "a tile is kept in memory: " + decision.text);
  program.emit(function, artifact.symbol);
  if (!options.fusesMultiplyAdd)
    codegen::forbidContraction(*lowered.module);
  artifact.scratchBytes = plan.scratchBytes();
  if (Status status = codegen::linkMathlib(*lowered.module); !status.ok())
    return status;
  std::string broken;
  llvm::raw_string_ostream out(broken);
  if (llvm::verifyModule(*lowered.module, &out))
    return Status::error(StatusCode::Internal, "the CPU target emitted broken LLVM IR: " + broken);
  artifact.times.emit = watch.lap();
  if (Status status = codegen::optimize(*lowered.module, *lowered.machine); !status.ok()) {
    codegen::abandon(std::move(state));
    return status;
  }
  artifact.times.optimize = watch.lap();
  if (emit.llvm)
    llvm::raw_string_ostream(artifact.llvm) << *lowered.module;
  return state;
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
  auto lowered = lower(module, options, emit, artifact);
  if (!lowered)
    return lowered.status();
  Stopwatch watch;
  Lowered &code = **lowered;
  auto object = codegen::emitObject(*code.module, *code.machine);
  if (!object) {
    codegen::abandon(std::move(*lowered));
    return object.status();
  }
  artifact.object = std::move(*object);
  artifact.times.codegen = watch.lap();
  return artifact;
}

Result<std::string> assembly(ModuleOp module, const CpuOptions &options) {
  Artifact artifact;
  auto lowered = lower(module, options, {}, artifact);
  if (!lowered)
    return lowered.status();
  Result<std::string> text = codegen::emitAssembly(*(*lowered)->module, *(*lowered)->machine);
  if (!text)
    codegen::abandon(std::move(*lowered));
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
