// The machine that runs a GPU's code on the cores of this one: its code is the GPU target's, without an
// assembler.
#include "compiler/Builders.h"
#include "compiler/Ptx.h"

namespace tegula::compiler {

// It has no registers to run short of.
static nvidia::NvidiaOptions optionsOf(const TargetOptions &options) {
  return {options.arch,    options.numWarps,  options.numStages, 0, options.fusesMultiplyAdd,
          options.isAlone, options.libraries, options.given};
}

Status buildPtxvm(mlir::ModuleOp module, const TargetOptions &options, artifact::Artifact &artifact,
                  BuildReport &report) {
  return buildPtx(module, optionsOf(options), options.looks, artifact, report);
}

Result<std::string> stageOfPtxvm(const artifact::Artifact &, mlir::ModuleOp module,
                                 const TargetOptions &options, std::string_view name) {
  return ptxStage(module, optionsOf(options), name);
}

// It runs the very code of the GPU target.
Result<PassList> passesOfPtxvm(const TargetOptions &options) { return passesOfNvidia(options); }

} // namespace tegula::compiler
