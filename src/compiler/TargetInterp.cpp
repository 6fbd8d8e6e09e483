// The interpreter as a target: there is nothing to build.
#include "compiler/Targets.h"
#include "interp/Interp.h"

#include <mutex>

namespace tegula::compiler {
namespace {

class InterpExecutable : public Executable {
public:
  explicit InterpExecutable(mlir::ModuleOp module) : module_(module) {}

  Status launch(std::span<const uint64_t> slots, const runtime::Grid &grid, const runtime::Place &) override {
    // The context is single-threaded: one run at a time.
    std::lock_guard guard(running_);
    return interp::run(module_, slots, grid);
  }
  std::vector<std::string> stageNames() const override { return {}; }
  Result<std::string> stage(std::string_view name) override {
    return Status::error(StatusCode::Internal, "the interpreter has no stages");
  }

private:
  mlir::ModuleOp module_;
  std::mutex running_;
};

} // namespace

Result<std::unique_ptr<Executable>> buildInterp(mlir::ModuleOp module, const TargetOptions &) {
  return std::unique_ptr<Executable>(std::make_unique<InterpExecutable>(module));
}

Result<PassList> passesOfInterp(const TargetOptions &) {
  return PassList{{}, std::make_shared<simt::Machine>()};
}

} // namespace tegula::compiler
