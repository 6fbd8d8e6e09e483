// The statements that parse and mean nothing in a kernel: what they are called, and what to
// write instead.
#pragma once
#include "syntax/Ast.h"

#include <optional>
#include <string>

namespace tegula::sema {

struct Refusal {
  std::string what, instead;
};

// nullopt: a statement of the language (or one that the parser has reported).
std::optional<Refusal> refusalOf(const syntax::Stmt *node);

} // namespace tegula::sema
