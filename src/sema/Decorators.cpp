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
