// The decorators of a function, recognised by their last word: `jit` of `@triton.jit(debug=True)`.
#pragma once
#include "syntax/Ast.h"

#include <set>
#include <string_view>

namespace tegula::sema {

// The last word of a.b.c or of a.b.c(...); empty of other expressions.
std::string_view lastWord(const syntax::Expr *node);
// Null: the function has none of this word.
const syntax::Expr *decorator(const syntax::FunctionDef &function, std::string_view word);
// @jit(noinline=True)
bool saysNoinline(const syntax::FunctionDef &function);

// The names under which a file has the language, in a tree that outlives them.
class LanguageNames {
public:
  explicit LanguageNames(const syntax::Tree &tree);
  // Is the function decorated by `jit`, of the language? `@numba.jit` in a file that imports triton, too, is
  // none.
  bool isKernel(const syntax::FunctionDef &function) const;

private:
  std::set<std::string_view> names_; // of modules, and of what modules that may hand it on give
  bool importsLanguage_ = false;
};

} // namespace tegula::sema
