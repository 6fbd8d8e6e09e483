// The machine that runs a GPU's code on the cores of this one, with checks: the code is the very
// text that the assembler would get. A launch whose place has a stream runs in that
// ptxvm::Simulation, which knows extents and keeps what it finds; without, on the memory of the
// process. A finding is the launch's failure.
#include "base/Environment.h"
#include "compiler/Targets.h"
#include "ptxvm/simulate/Simulation.h"
#include "targets/nvidia/Nvidia.h"

#include <cstdio>
#include <mutex>

namespace tegula::compiler {
namespace {

constexpr unsigned kWarpSize = 32;
constexpr size_t kScratchPointers = 2; // after the kernel's own parameters

void printAtOnce(const std::string &text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

Status statusOf(const ptxvm::Simulation &simulation) {
  if (simulation.findings().empty())
    return Status::success();
  bool asserts = simulation.findings().front().kind == ptxvm::FindingKind::AssertFailed;
  return Status::error(asserts ? StatusCode::Assertion : StatusCode::Launch, simulation.findingsText());
}

class PtxvmExecutable : public Executable {
public:
  PtxvmExecutable(mlir::ModuleOp module, nvidia::NvidiaOptions options, nvidia::Artifact artifact,
                  std::shared_ptr<const ptxvm::Module> parsed)
      : module_(module), options_(std::move(options)), artifact_(std::move(artifact)),
        parsed_(std::move(parsed)) {
    remarks = std::move(artifact_.remarks);
    times = std::move(artifact_.times);
  }

  Status launch(std::span<const uint64_t> slots, const runtime::Grid &grid,
                const runtime::Place &place) override {
    ptxvm::LaunchShape shape;
    for (size_t axis = 0; axis != 3; ++axis)
      shape.grid[axis] = uint32_t(grid.extent[axis]);
    shape.block = {artifact_.numWarps * kWarpSize, 1, 1};
    shape.sharedBytes = artifact_.sharedBytes;
    shape.parameters.assign(slots.begin(), slots.end());
    shape.parameters.resize(slots.size() + kScratchPointers);
    ptxvm::Simulation own({});
    bool isOwn = !place.stream;
    ptxvm::Simulation *given = isOwn ? &own : ptxvm::Simulation::at(place.stream);
    if (!given)
      return Status::error(
          StatusCode::Launch,
          "the stream is no simulation that lives: pass what tg_simulation_stream gives, or none");
    ptxvm::Simulation &simulation = *given;
    Status status = simulation.run(parsed_, artifact_.entry, shape);
    if (isOwn)
      printAtOnce(own.printed());
    return status.ok() ? statusOf(simulation) : status;
  }

  Result<runtime::KernelAttributes> attributes() override {
    runtime::KernelAttributes known;
    known.warps = int(artifact_.numWarps);
    known.sharedBytes = int64_t(artifact_.sharedBytes);
    return known;
  }

  std::string_view arch() const override { return options_.arch; }
  std::vector<std::string> stageNames() const override { return {"simt", "llvm", "ptx"}; }

  Result<std::string> stage(std::string_view name) override {
    if (name == "ptx")
      return artifact_.ptx;
    std::lock_guard guard(texts_);
    mlir::OwningOpRef<mlir::ModuleOp> copy = module_.clone();
    Result<nvidia::Artifact> again =
        nvidia::compile(*copy, options_, {.simt = name == "simt", .llvm = name == "llvm"});
    if (!again)
      return again.status();
    return name == "llvm" ? std::move(again->llvm) : std::move(again->simt);
  }

private:
  mlir::ModuleOp module_;
  nvidia::NvidiaOptions options_;
  nvidia::Artifact artifact_;
  std::shared_ptr<const ptxvm::Module> parsed_;
  std::mutex texts_;
};

} // namespace

const char *archOfPtxvm() {
  const char *wanted = valueOf(Variable::SimArch);
  return *wanted ? wanted : "sm_90a";
}

Result<std::unique_ptr<Executable>> buildPtxvm(mlir::ModuleOp module, const TargetOptions &options) {
  nvidia::NvidiaOptions nvidiaOptions{options.arch, options.numWarps, options.numStages, 0,
                                      options.fusesMultiplyAdd};
  mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
  Result<nvidia::Artifact> artifact = nvidia::compile(*copy, nvidiaOptions, {.looks = options.looks});
  if (!artifact)
    return artifact.status();
  Result<std::shared_ptr<const ptxvm::Module>> parsed = ptxvm::parse(artifact->ptx, artifact->entry + ".ptx");
  if (!parsed)
    return Status::error(StatusCode::Internal,
                         "the machine does not understand the code: " + parsed.status().message);
  return std::unique_ptr<Executable>(std::make_unique<PtxvmExecutable>(
      module, std::move(nvidiaOptions), std::move(*artifact), std::move(*parsed)));
}

// It runs the very code of the GPU target.
Result<PassList> passesOfPtxvm(const TargetOptions &options) { return passesOfNvidia(options); }

} // namespace tegula::compiler
