#include "compiler/ModuleFile.h"
#include "base/Files.h"
#include "sema/Decorators.h"
#include "sema/Sema.h"
#include "syntax/Parser.h"

namespace tegula::compiler {

diag::SourcePtr readSource(const std::string &path, diag::Sink &sink) {
  auto refuse = [&](diag::Kind kind, std::string_view reason) -> diag::Diagnostic & {
    return sink.report(kind, {}, {path, reason});
  };
  if (path.empty()) {
    refuse(diag::Kind::FileUnreadable, "").message = "the path of the kernel's file is empty";
    return nullptr;
  }
  Result<RegularFile> file = RegularFile::open(path);
  if (file && file->size() > syntax::maxTextBytes) {
    refuse(diag::Kind::FileTooLarge, std::to_string(file->size()));
    return nullptr;
  }
  Result<std::string> text = readGivenFile(path, syntax::maxTextBytes);
  if (!text) {
    refuse(diag::Kind::FileUnreadable, text.status().message);
    return nullptr;
  }
  if (size_t zero = text->find('\0'); zero != std::string::npos) {
    refuse(diag::Kind::FileNotText, std::to_string(zero));
    return nullptr;
  }
  return std::make_shared<diag::Source>(path, std::move(*text));
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
  const std::string &path = module.tree->source->path();
  diag::Diagnostic &diagnostic = sink.report(diag::Kind::KernelUnknown, {}, {path, name, hint});
  if (name.empty())
    diagnostic.message = known.empty() ? "`" + path + "` has no kernel"
                                       : "`" + path + "` has several kernels, and none of them is named";
  return nullptr;
}

} // namespace tegula::compiler
