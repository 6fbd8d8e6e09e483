// Targets stand left of `=`, behind `for`, `as` and `del`. They are read as expressions, then
// checked, so that the message can name what stands there.
#include "syntax/Parsing.h"

namespace tegula::syntax {

using diag::Kind;

// star_targets, up to `in`: elements stop before a comparison.
Expr *Parser::parseTargets(TargetUse use) {
  uint32_t begin = current_->begin;
  auto element = [&]() -> Expr * {
    return at(TokenKind::Star) ? parseStarExpression() : parseBinary(BitOrLevel);
  };
  Expr *target = element();
  if (at(TokenKind::Comma)) {
    std::vector<Expr *> elements{target};
    while (accept(TokenKind::Comma) && !at(TokenKind::In) && !at(TokenKind::Newline) &&
           !at(TokenKind::Semicolon) && !at(TokenKind::EndOfFile))
      elements.push_back(element());
    auto *tuple = make<Tuple>(begin);
    tuple->elements = std::move(elements);
    for (Expr *part : tuple->elements)
      cover(tuple, part);
    target = tuple;
  }
  checkTarget(target, use);
  return target;
}

bool Parser::checkTarget(Expr *target, TargetUse use, bool isNested) {
  const std::vector<Expr *> *elements = nullptr;
  switch (target->kind) {
  case NodeKind::Name:
  case NodeKind::Attribute:
  case NodeKind::Subscript:
  case NodeKind::InvalidExpr: return true;
  case NodeKind::Tuple: elements = &static_cast<Tuple *>(target)->elements; break;
  case NodeKind::List: elements = &static_cast<List *>(target)->elements; break;
  case NodeKind::Starred: {
    Expr *value = static_cast<Starred *>(target)->value;
    if (use == TargetUse::Delete || value->kind == NodeKind::Starred)
      break;
    if (!isNested) {
      fail(Kind::StarredTargetAlone, target->range);
      return false;
    }
    return checkTarget(value, use, true);
  }
  default: break;
  }
  if (elements) {
    for (Expr *element : *elements)
      if (!checkTarget(element, use, true))
        return false;
    return true;
  }
  if (use == TargetUse::Delete) {
    fail(Kind::InvalidDelete, target->range, {describe(target)});
    return false;
  }
  diag::Diagnostic *error = fail(Kind::InvalidTarget, target->range, {describe(target)});
  if (error && use == TargetUse::Assign && !isNested)
    error->hint = "did you mean `==` instead of `=`?";
  return false;
}

// A message's words for an expression that cannot be assigned to.
std::string Parser::describe(const Expr *expr) const {
  switch (expr->kind) {
  case NodeKind::NoneLiteral: return "`None`";
  case NodeKind::EllipsisLiteral: return "`...`";
  case NodeKind::BoolLiteral: return static_cast<const BoolLiteral *>(expr)->value ? "`True`" : "`False`";
  case NodeKind::IntLiteral:
  case NodeKind::FloatLiteral:
  case NodeKind::ImaginaryLiteral:
  case NodeKind::StringLiteral: return "a literal";
  case NodeKind::FormatString: return "an f-string";
  case NodeKind::Name: return "a name";
  case NodeKind::Attribute: return "an attribute";
  case NodeKind::Subscript: return "a subscript";
  case NodeKind::Slice: return "a slice";
  case NodeKind::Starred: return "a starred expression";
  case NodeKind::Call: return "a function call";
  case NodeKind::Compare: return "a comparison";
  case NodeKind::Conditional: return "a conditional expression";
  case NodeKind::Tuple: return "a tuple";
  case NodeKind::List: return "a list";
  case NodeKind::ListComp: return "a list comprehension";
  case NodeKind::NamedExpr: return "a named expression";
  case NodeKind::UnsupportedExpr: {
    const std::string &what = static_cast<const UnsupportedExpr *>(expr)->what;
    return (what[0] == 'a' ? "an " : "a ") + what;
  }
  default: return "an expression";
  }
}

} // namespace tegula::syntax
