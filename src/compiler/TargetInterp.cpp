// The interpreter as a target: there is nothing to build, and it runs tile IR, behind Core.h.
#include "compiler/Core.h"

namespace tegula::compiler {

// A compile for it costs no more than a look on disk.
std::optional<std::string> identityOfInterp(const TargetOptions &) { return std::nullopt; }

Result<std::unique_ptr<Executable>> loadInterp(const artifact::Artifact &artifact) {
  Result<const Core *> opened = core();
  return opened ? (*opened)->interpret(artifact) : opened.status();
}

} // namespace tegula::compiler
