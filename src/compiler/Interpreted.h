// Artifacts whose tile IR is run as it is.
#pragma once
#include "compiler/Targets.h"

namespace tegula::compiler {

// The artifact lives longer.
Result<std::unique_ptr<Executable>> interpreted(const artifact::Artifact &artifact);

} // namespace tegula::compiler
