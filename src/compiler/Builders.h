// A compile asks a target to make an artifact of a module in tile IR, to list its passes, and to make the
// text of a stage again. One row a target of Targets.def.
#pragma once
#include "compiler/KeptModule.h"
#include "compiler/Targets.h"

#include "mlir/IR/BuiltinOps.h"

namespace tegula::compiler {

#define TARGET(Name, name, text)                                                                             \
  Status build##Name(mlir::ModuleOp, const TargetOptions &, artifact::Artifact &, BuildReport &);            \
  Result<PassList> passesOf##Name(const TargetOptions &);                                                    \
  Result<std::string> stageOf##Name(const artifact::Artifact &, mlir::ModuleOp, const TargetOptions &,       \
                                    std::string_view);
#include "compiler/Targets.def"
#undef ARCH_TARGET
#undef DEVICE_TARGET
#undef TARGET

struct Builder {
  std::string_view target;
  // Adds to `artifact` what the target makes of the module: parts, launch data, remarks. The module is not
  // changed.
  Status (*build)(mlir::ModuleOp module, const TargetOptions &options, artifact::Artifact &artifact,
                  BuildReport &report);
  // The target's own passes.
  Result<PassList> (*passes)(const TargetOptions &options);
  // The text of a stage that the artifact does not hold, from a module that is changed.
  Result<std::string> (*stage)(const artifact::Artifact &artifact, mlir::ModuleOp module,
                               const TargetOptions &options, std::string_view name);
};
const Builder &builderOf(const Target &target);

} // namespace tegula::compiler
