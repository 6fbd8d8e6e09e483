// The one way from tile IR to PTX that the GPU and the machine that simulates it share.
#pragma once
#include "compiler/Targets.h"
#include "targets/nvidia/Nvidia.h"

namespace tegula::compiler {

// Adds the part "ptx", its launch data and its remarks to `artifact`.
Status buildPtx(mlir::ModuleOp module, const nvidia::NvidiaOptions &options, const pipeline::Looks *looks,
                artifact::Artifact &artifact, BuildReport &report);
// The text of the stage "simt" or "llvm". The module is changed.
Result<std::string> ptxStage(mlir::ModuleOp module, const nvidia::NvidiaOptions &options,
                             std::string_view name);

} // namespace tegula::compiler
