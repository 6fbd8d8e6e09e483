#include "syntax/Ast.h"

namespace tegula::syntax {

std::string_view name(NodeKind kind) {
  constexpr std::string_view names[] = {
#define EXPR(Name) #Name,
#define STMT(Name) #Name,
#include "syntax/Nodes.def"
#undef EXPR
#undef STMT
  };
  return names[static_cast<size_t>(kind)];
}

std::string_view spelling(UnaryOperator op) {
  constexpr std::string_view texts[] = {"-", "+", "~", "not"};
  return texts[static_cast<size_t>(op)];
}

std::string_view spelling(BinaryOperator op) {
  constexpr std::string_view texts[] = {"+", "-", "*", "/", "//", "%", "**", "@", "<<", ">>", "&", "|", "^"};
  return texts[static_cast<size_t>(op)];
}

std::string_view spelling(CompareOperator op) {
  constexpr std::string_view texts[] = {"==", "!=", "<", "<=", ">", ">=", "is", "is not", "in", "not in"};
  return texts[static_cast<size_t>(op)];
}

std::string_view spelling(BoolOperator op) { return op == BoolOperator::And ? "and" : "or"; }

} // namespace tegula::syntax
