// The classic mistakes of kernels, looked for in tile IR: findings are warnings, each with its place, the
// reason and a hint. A comment `# tegula: allow(NAME, ...)` on the line of a finding says that it is meant.
#pragma once
#include "compiler/Compiler.h"

#include "llvm/ADT/StringMap.h"

namespace tegula::compiler {

// Values that are known of a launch, besides the types and constants of its arguments.
struct KnownLaunch {
  llvm::StringMap<int64_t> integers; // values of run-time arguments
  llvm::StringMap<int64_t> elements; // of the arrays that pointers point at
  std::optional<runtime::Grid> grid;
};

// Compiles as far as tile IR, and looks. What does not compile is reported as by any compile.
void findMistakes(const sema::Request &request, const KnownLaunch &launch, diag::Sink &sink);

} // namespace tegula::compiler
