#include "sema/Decorators.h"

namespace tegula::sema {

using syntax::as;

std::string_view lastWord(const syntax::Expr *node) {
  if (auto *call = as<syntax::Call>(node))
    node = call->callee;
  if (auto *attribute = as<syntax::Attribute>(node))
    return attribute->attribute;
  if (auto *name = as<syntax::Name>(node))
    return name->id;
  return {};
}

const syntax::Expr *decorator(const syntax::FunctionDef &function, std::string_view word) {
  for (const syntax::Expr *node : function.decorators)
    if (lastWord(node) == word)
      return node;
  return nullptr;
}

// a of a.b.c and of a.b.c(...); empty of a name alone.
static std::string_view module(const syntax::Expr *node) {
  if (auto *call = as<syntax::Call>(node))
    node = call->callee;
  auto *attribute = as<syntax::Attribute>(node);
  while (auto *inner = attribute ? as<syntax::Attribute>(attribute->object) : nullptr)
    attribute = inner;
  auto *name = attribute ? as<syntax::Name>(attribute->object) : nullptr;
  return name ? std::string_view(name->id) : std::string_view();
}

// Packages that hand the language on have its name in theirs: triton_dist.
static bool isOfLanguage(std::string_view module) {
  std::string_view package = module.substr(0, module.find('.'));
  return package == "tegula" || package.find("triton") != std::string_view::npos;
}

LanguageNames::LanguageNames(const syntax::Tree &tree) {
  for (const syntax::Stmt *statement : tree.body) {
    auto *import = as<syntax::Import>(statement);
    for (size_t i = 0; import && i < import->names.size(); ++i)
      if (const syntax::ImportedName &imported = import->names[i]; isOfLanguage(imported.name)) {
        importsLanguage_ = true;
        names_.insert(imported.asName);
      }
    auto *from = as<syntax::ImportFrom>(statement);
    for (size_t i = 0; from && i < from->names.size(); ++i)
      names_.insert(from->names[i].asName);
  }
}

bool LanguageNames::isKernel(const syntax::FunctionDef &function) const {
  const syntax::Expr *node = decorator(function, "jit");
  std::string_view name = node ? module(node) : std::string_view();
  // A file that knows the language no other way may have it from anywhere.
  return node && (name.empty() || isOfLanguage(name) || names_.count(name) || !importsLanguage_);
}

bool saysNoinline(const syntax::FunctionDef &function) {
  auto *call = as<syntax::Call>(decorator(function, "jit"));
  if (!call)
    return false;
  for (const syntax::Keyword &keyword : call->keywords)
    if (auto *flag = as<syntax::BoolLiteral>(keyword.value); flag && keyword.name == "noinline")
      return flag->value;
  return false;
}

} // namespace tegula::sema
