// The interpreter as a target: there is nothing to build.
#include "compiler/Targets.h"
#include "interp/Interp.h"

namespace tegula::compiler {
namespace {

class InterpExecutable : public Executable {
public:
  InterpExecutable(KeptModule &kept, mlir::ModuleOp module) : kept_(kept), module_(module) {}

  Status launch(std::span<const uint64_t> slots, const runtime::Grid &grid, const runtime::Place &) override {
    // The context is single-threaded: one run at a time.
    std::lock_guard guard(kept_.mutex);
    return interp::run(module_, slots, grid);
  }
  std::vector<std::string> stageNames() const override { return {}; }
  Result<std::string> stage(std::string_view name) override {
    return Status::error(StatusCode::Internal, "the interpreter has no stages");
  }

private:
  KeptModule &kept_;
  mlir::ModuleOp module_;
};

} // namespace

Status buildInterp(mlir::ModuleOp, const TargetOptions &, artifact::Artifact &, BuildReport &) {
  return Status::success();
}

// A compile for it costs no more than a look on disk.
std::optional<std::string> identityOfInterp(const TargetOptions &) { return std::nullopt; }

Result<std::unique_ptr<Executable>> loadInterp(const artifact::Artifact &, KeptModule &kept,
                                               const TargetOptions &) {
  Result<mlir::ModuleOp> module = kept.get();
  if (!module)
    return module.status();
  return std::unique_ptr<Executable>(std::make_unique<InterpExecutable>(kept, *module));
}

Result<PassList> passesOfInterp(const TargetOptions &) {
  return PassList{{}, std::make_shared<simt::Machine>()};
}

} // namespace tegula::compiler
