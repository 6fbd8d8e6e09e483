#include "sema/Refusal.h"

namespace tegula::sema {

using syntax::NodeKind;

struct Row {
  NodeKind kind;
  const char *what, *instead;
};

static constexpr Row rows[] = {
    {NodeKind::With, "the `with` statement", "write its body without it"},
    {NodeKind::FunctionDef, "a function inside a function", "define it at module level with @triton.jit"},
    {NodeKind::ClassDef, "a class", "use tuples and @triton.jit functions"},
    {NodeKind::Import, "`import`", "import at the top of the file"},
    {NodeKind::ImportFrom, "`import`", "import at the top of the file"},
};

std::optional<Refusal> refusalOf(const syntax::Stmt *node) {
  for (const Row &row : rows)
    if (row.kind == node->kind)
      return Refusal{row.what, row.instead};
  if (auto *other = syntax::as<syntax::UnsupportedStmt>(node); other && other->what == "raise")
    return Refusal{other->what, "use tl.static_assert of constants, and tl.device_assert of run-time values"};
  if (auto *other = syntax::as<syntax::UnsupportedStmt>(node))
    return Refusal{other->what, "kernels have assignments, if, for, while, assert and return"};
  return std::nullopt;
}

} // namespace tegula::sema
