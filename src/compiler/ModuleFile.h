// A kernel file or a text -> tree, functions and the environment of their free names.
#pragma once
#include "diag/Diagnostic.h"
#include "sema/HostEnv.h"

#include <memory>
#include <string>
#include <vector>

namespace tegula::compiler {

struct Module {
  std::shared_ptr<const syntax::Tree> tree;
  std::shared_ptr<sema::HostEnv> env;
  // The functions decorated with `jit`, in order.
  std::vector<std::shared_ptr<const sema::Function>> functions;
};

// Null after a diagnostic: the file is missing, unreadable, binary or above 8 MiB.
diag::SourcePtr readSource(const std::string &path, diag::Sink &sink);

// Parses `source`. `env` answers free names, and then every function of the text is a kernel: the
// host knows what it hands over. Null: the module itself answers, and its kernels are decorated.
// Errors of the parse are in the sink; the module is there in any case, with what could be read.
Module makeModule(diag::SourcePtr source, std::shared_ptr<sema::HostEnv> env, diag::Sink &sink);

// Null after a diagnostic that lists the kernels there are.
std::shared_ptr<const sema::Function> findFunction(const Module &module, std::string_view name,
                                                   diag::Sink &sink);

} // namespace tegula::compiler
