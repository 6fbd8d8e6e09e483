// What is wrong with the kernels of a module whatever their arguments: names that nothing
// defines, and constructs that no kernel may have. Types need a signature: compile for that.
#pragma once
#include "compiler/ModuleFile.h"

namespace tegula::compiler {

void check(const Module &module, diag::Sink &sink);

} // namespace tegula::compiler
