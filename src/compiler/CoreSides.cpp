#include "compiler/Core.h"

namespace tegula::compiler {

std::string sidesOf() {
  std::string text = TEGULA_VERSION;
  for (size_t size :
       {sizeof(Core), sizeof(Executable), sizeof(Target), sizeof(TargetOptions), sizeof(Built),
        sizeof(artifact::Artifact), sizeof(sema::Request), sizeof(sema::HostRecord), sizeof(sema::Const),
        sizeof(diag::Diagnostic), sizeof(diag::Sink), sizeof(PassList), sizeof(eager::Program),
        sizeof(eager::Held), sizeof(KnownLaunch), sizeof(Module), sizeof(syntax::FunctionDef)})
    text += " " + std::to_string(size);
  return text;
}

} // namespace tegula::compiler
