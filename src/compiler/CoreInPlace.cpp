// core() of programs that link the archives: nothing is opened.
#include "compiler/BuildId.h"
#include "compiler/Core.h"

namespace tegula::compiler {

Result<const Core *> core() { return &linkedCore(); }

std::string identityOfCore() { return identityOfLlvm(); }

} // namespace tegula::compiler
