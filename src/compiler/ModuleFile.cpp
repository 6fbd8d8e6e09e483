#include "compiler/ModuleFile.h"
#include "sema/Decorators.h"
#include "sema/Sema.h"
#include "syntax/Parser.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sys/stat.h>

namespace tegula::compiler {

diag::SourcePtr readSource(const std::string &path, diag::Sink &sink) {
  auto refuse = [&](diag::Kind kind, std::string_view reason) {
    sink.report(kind, {}, {path, reason});
    return nullptr;
  };
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0)
    return refuse(diag::Kind::FileUnreadable, std::strerror(errno));
  if (!S_ISREG(info.st_mode))
    return refuse(diag::Kind::FileUnreadable,
                  S_ISDIR(info.st_mode) ? "it is a directory" : "it is not a file");
  if (size_t(info.st_size) > syntax::maxTextBytes)
    return refuse(diag::Kind::FileTooLarge, std::to_string(info.st_size));
  std::ifstream file(path, std::ios::binary);
  std::string text(size_t(info.st_size), '\0');
  if (!file || (!text.empty() && !file.read(text.data(), std::streamsize(text.size()))))
    return refuse(diag::Kind::FileUnreadable, "it cannot be read");
  if (size_t zero = text.find('\0'); zero != std::string::npos)
    return refuse(diag::Kind::FileNotText, std::to_string(zero));
  return std::make_shared<diag::Source>(path, std::move(text));
}

Module makeModule(diag::SourcePtr source, std::shared_ptr<sema::HostEnv> env, diag::Sink &sink) {
  Module module;
  module.tree = syntax::parse(std::move(source), sink);
  if (!env) {
    module.env = sema::makeModuleEnv(module.tree);
    module.functions = sema::kernelsOf(module.tree, module.env);
    return module;
  }
  module.env = std::move(env);
  for (const syntax::Stmt *statement : module.tree->body)
    if (auto *definition = syntax::as<syntax::FunctionDef>(statement))
      module.functions.push_back(std::make_shared<sema::Function>(
          sema::Function{module.tree, definition, module.env, sema::saysNoinline(*definition),
                         module.tree->source->path() + "::" + definition->name}));
  return module;
}

std::shared_ptr<const sema::Function> findFunction(const Module &module, std::string_view name,
                                                   diag::Sink &sink) {
  std::string known;
  for (const auto &function : module.functions) {
    if (function->definition->name == name)
      return function;
    known += (known.empty() ? "" : ", ") + function->definition->name;
  }
  std::string hint =
      known.empty() ? "no function of this file is decorated with `@triton.jit`" : "its kernels: " + known;
  sink.report(diag::Kind::KernelUnknown, {}, {module.tree->source->path(), name, hint});
  return nullptr;
}

} // namespace tegula::compiler
