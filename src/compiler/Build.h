// The compile itself, behind Core.h.
#pragma once
#include "compiler/Compiler.h"

namespace tegula::compiler {

// As `build` (Compiler.h).
Status buildArtifact(const sema::Request &request, const Target &target, const TargetOptions &options,
                     Built &built, diag::Sink &sink);
// As `rebuild` (Core.h).
Status rebuildArtifact(const artifact::Artifact &from, const TargetOptions &options, Built &built);

} // namespace tegula::compiler
