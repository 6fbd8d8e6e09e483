// The decorators of a function, recognised by their last word: `jit` of `@triton.jit(debug=True)`.
#pragma once
#include "syntax/Ast.h"

#include <string_view>

namespace tegula::sema {

// The last word of a.b.c or of a.b.c(...); empty of other expressions.
std::string_view lastWord(const syntax::Expr *node);
// Null: the function has none of this word.
const syntax::Expr *decorator(const syntax::FunctionDef &function, std::string_view word);
// Is it decorated by `jit`, of the language? `@numba.jit` in a file that imports triton, too, is none.
bool isKernel(const syntax::Tree &tree, const syntax::FunctionDef &function);
// @jit(noinline=True)
bool saysNoinline(const syntax::FunctionDef &function);

} // namespace tegula::sema
