// tree -> text, one statement a line, expressions as s-expressions: for tests and for a
// person who wants to see what was read. The form is stable; it has no way back.
#pragma once
#include "syntax/Ast.h"

namespace tegula::syntax {

std::string print(const Tree &tree);
std::string print(const Expr *expr);

} // namespace tegula::syntax
