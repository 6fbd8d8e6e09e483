// A kernel and what is known of its arguments -> a compilation: a program that can be
// launched, the texts of its stages, remarks and times. Each compile has a fresh,
// single-threaded MLIR context; nothing is shared between two of them.
#pragma once
#include "compiler/Targets.h"
#include "diag/Diagnostic.h"
#include "sema/Sema.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <map>
#include <mutex>

namespace tegula::compiler {

struct CompileOptions {
  std::string target = "cpu";
  TargetOptions targetOptions;
  sema::LanguageOptions language;
  pipeline::Looks looks; // at the kernel between passes
};

// A run-time argument: one slot of a launch.
struct RuntimeArgument {
  std::string name;
  sema::Type type;
  bool written = false; // the kernel may store through this pointer
};

class Compilation {
public:
  const std::string &kernelName() const { return kernelName_; }
  const std::string &targetName() const { return targetName_; }
  std::string_view arch() const { return executable_->arch(); }
  const std::vector<RuntimeArgument> &arguments() const { return arguments_; }
  const std::vector<diag::Remark> &remarks() const { return executable_->remarks; }
  const std::vector<StageTime> &times() const { return times_; }

  // "ttir", then the target's own. The text lives as long as this object.
  const std::vector<std::string> &stageNames() const { return stageNames_; }
  Result<std::string_view> stage(std::string_view name);

  // Launch: another number of slots than `arguments()`, or a grid that is none.
  Status launch(std::span<const uint64_t> slots, const runtime::Grid &grid, const runtime::Place &place = {});
  Result<runtime::KernelAttributes> attributes() { return executable_->attributes(); }

private:
  friend std::unique_ptr<Compilation> compile(const sema::Request &, const CompileOptions &, diag::Sink &);
  Compilation() = default;

  // In this order: the program reads the module, the module its context.
  std::unique_ptr<mlir::MLIRContext> context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  std::unique_ptr<Executable> executable_;

  std::string kernelName_, targetName_;
  bool needsOneProgram_ = false; // the grid is cooperative, and programs run one after another
  std::vector<std::string> stageNames_;
  std::vector<RuntimeArgument> arguments_;
  std::vector<StageTime> times_;
  std::mutex textMutex_;
  std::map<std::string, std::string, std::less<>> texts_;
};

// Null after diagnostics.
std::unique_ptr<Compilation> compile(const sema::Request &request, const CompileOptions &options,
                                     diag::Sink &sink);

} // namespace tegula::compiler
