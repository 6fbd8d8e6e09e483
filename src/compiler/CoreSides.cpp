#include "compiler/Core.h"

#include <functional>

namespace tegula::compiler {

// The names of diagnostics, whose numbers go over the border.
static constexpr std::string_view diagnostics =
#define DIAG(Name, severity, code, text, hint) #Name " "
#include "diag/Diagnostics.def"
    ;
#undef DIAG

std::string sidesOf() {
  std::string text = TEGULA_VERSION;
  for (size_t size :
       {sizeof(Core), sizeof(Executable), sizeof(Target), sizeof(TargetOptions), sizeof(Built),
        sizeof(artifact::Artifact), sizeof(sema::Request), sizeof(sema::HostRecord), sizeof(sema::Const),
        sizeof(diag::Diagnostic), sizeof(diag::Sink), sizeof(PassList), sizeof(eager::Program),
        sizeof(eager::Held), sizeof(KnownLaunch), sizeof(Module), sizeof(syntax::FunctionDef)})
    text += " " + std::to_string(size);
  return text + " " + std::to_string(std::hash<std::string_view>{}(diagnostics));
}

} // namespace tegula::compiler
