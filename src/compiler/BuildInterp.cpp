// The interpreter as a target: it runs tile IR itself.
#include "compiler/Builders.h"
#include "compiler/Interpreted.h"
#include "interp/Interp.h"
#include "pipeline/GivenStage.h"

namespace tegula::compiler {
namespace {

class InterpExecutable : public Executable {
public:
  explicit InterpExecutable(const artifact::Artifact &artifact) : kept_(*artifact.part(tilePart)) {}

  Status launch(std::span<const uint64_t> slots, const runtime::Grid &grid, const runtime::Place &) override {
    // The context is single-threaded: one run at a time.
    RobustLock::Holder within(kept_.lock);
    Result<mlir::ModuleOp> module = kept_.get(within);
    return module ? interp::run(*module, slots, grid) : module.status();
  }
  std::vector<std::string> stageNames() const override { return {}; }
  Status read() {
    RobustLock::Holder within(kept_.lock);
    return kept_.get(within).status();
  }

private:
  KeptModule kept_;
};

} // namespace

Status buildInterp(mlir::ModuleOp, const TargetOptions &options, artifact::Artifact &, BuildReport &) {
  return pipeline::checkGiven(options.given, {});
}

Result<std::string> stageOfInterp(const artifact::Artifact &, mlir::ModuleOp, const TargetOptions &,
                                  std::string_view) {
  return Status::error(StatusCode::Internal, "the interpreter has no stages");
}

Result<std::unique_ptr<Executable>> interpreted(const artifact::Artifact &artifact) {
  auto executable = std::make_unique<InterpExecutable>(artifact);
  if (Status status = executable->read(); !status.ok())
    return status;
  return std::unique_ptr<Executable>(std::move(executable));
}

Result<PassList> passesOfInterp(const TargetOptions &) {
  return PassList{{}, std::make_shared<simt::Machine>()};
}

} // namespace tegula::compiler
