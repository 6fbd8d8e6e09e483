// Expressions from the statement's list down to calls and subscripts.
#include "syntax/NameForms.h"
#include "syntax/Parsing.h"

#include <algorithm>
#include <tuple>

namespace tegula::syntax {

using diag::Kind;

// star_expressions: a tuple without parentheses, or one expression.
Expr *Parser::parseStarExpressions() {
  uint32_t begin = current_->begin;
  Expr *first = parseStarExpression();
  if (!at(TokenKind::Comma)) {
    if (first->kind == NodeKind::Starred)
      fail(Kind::StarredAlone, first->range);
    return first;
  }
  std::vector<Expr *> elements{first};
  while (accept(TokenKind::Comma)) {
    // `=` or a closing token may follow a last comma.
    bool more = !at(TokenKind::Newline) && !at(TokenKind::Equal) && !at(TokenKind::RParen) &&
                !at(TokenKind::RBracket) && !at(TokenKind::RBrace) && !at(TokenKind::Semicolon) &&
                !at(TokenKind::Colon) && !at(TokenKind::Bang) && !at(TokenKind::EndOfFile);
    if (!more)
      break;
    elements.push_back(parseStarExpression());
  }
  auto *tuple = make<Tuple>(begin);
  tuple->elements = std::move(elements);
  for (Expr *element : tuple->elements)
    cover(tuple, element);
  return tuple;
}

// star_expression: '*' bitwise_or | expression
Expr *Parser::parseStarExpression() {
  if (!at(TokenKind::Star))
    return parseExpression();
  uint32_t begin = take().begin;
  Expr *value = parseBinary(BitOrLevel);
  auto *starred = make<Starred>(begin);
  starred->value = value;
  cover(starred, value);
  return starred;
}

// star_named_expression: '*' bitwise_or | named_expression
Expr *Parser::parseStarNamedExpression() {
  return at(TokenKind::Star) ? parseStarExpression() : parseNamedExpression();
}

// named_expression: NAME ':=' expression | expression
Expr *Parser::parseNamedExpression() {
  uint32_t begin = current_->begin;
  if (!at(TokenKind::Identifier) || !nextIs(TokenKind::ColonEqual)) {
    Expr *value = parseExpression();
    if (at(TokenKind::ColonEqual))
      fail(Kind::InvalidNamedTarget, value->range, {describe(value)});
    return value;
  }
  Token token = take();
  Name *name = make<Name>(begin);
  name->id = normalName(text(token));
  take();
  Expr *value = parseExpression();
  auto *named = make<NamedExpr>(begin);
  named->target = name;
  named->value = value;
  cover(named, value);
  return named;
}

// expression: disjunction ['if' disjunction 'else' expression] | lambda
Expr *Parser::parseExpression() {
  Nest nest(*this, expressionDepth_);
  if (at(TokenKind::Lambda))
    return parseLambda();
  uint32_t begin = current_->begin;
  Expr *then = parseDisjunction();
  if (!at(TokenKind::If))
    return then;
  take();
  Expr *condition = parseDisjunction();
  if (!accept(TokenKind::Else))
    failHere(Kind::ExpectedElse, {describe(*current_)});
  Expr *orelse = parseExpression();
  auto *node = make<Conditional>(begin);
  node->condition = condition;
  node->then = then;
  node->orelse = orelse;
  for (Expr *child : {condition, then, orelse})
    cover(node, child);
  return node;
}

// ---- operators --------------------------------------------------------------------------

Parser::Infix Parser::infixOf(const Token *token) {
  using K = TokenKind;
  using B = BinaryOperator;
  switch (token->kind) {
  case K::Or: return {OrLevel};
  case K::And: return {AndLevel};
  case K::Not: return {token[1].kind == K::In ? CompareLevel : -1};
  case K::EqualEqual:
  case K::NotEqual:
  case K::Less:
  case K::LessEqual:
  case K::Greater:
  case K::GreaterEqual:
  case K::Is:
  case K::In: return {CompareLevel};
  case K::Bar: return {BitOrLevel, B::Or};
  case K::Caret: return {BitXorLevel, B::Xor};
  case K::Amp: return {BitAndLevel, B::And};
  case K::LShift: return {ShiftLevel, B::LShift};
  case K::RShift: return {ShiftLevel, B::RShift};
  case K::Plus: return {SumLevel, B::Add};
  case K::Minus: return {SumLevel, B::Sub};
  case K::Star: return {TermLevel, B::Mul};
  case K::Slash: return {TermLevel, B::Div};
  case K::DoubleSlash: return {TermLevel, B::FloorDiv};
  case K::Percent: return {TermLevel, B::Mod};
  case K::At: return {TermLevel, B::MatMul};
  case K::DoubleStar: return {PowerLevel, B::Pow};
  default: return {};
  }
}

// Operators that bind at least as tightly as `minimum`.
Expr *Parser::parseBinary(int minimum) {
  uint32_t begin = current_->begin;
  Expr *left = parsePrefix(minimum);
  for (;;) {
    Infix infix = infixOf(current_);
    if (infix.level < minimum)
      return left;
    if (infix.level == OrLevel || infix.level == AndLevel) {
      left = parseBoolOp(left, infix.level == OrLevel);
      continue;
    }
    if (infix.level == CompareLevel) {
      left = parseCompare(left);
      continue;
    }
    take();
    Expr *right;
    if (infix.level == PowerLevel) { // to the right first, and a sign may follow: 2 ** -x ** y
      Nest nest(*this, expressionDepth_);
      right = parseBinary(UnaryLevel);
    } else {
      right = parseBinary(infix.level + 1);
    }
    auto *node = make<Binary>(begin);
    node->op = infix.op;
    node->left = left;
    node->right = right;
    cover(node, left);
    cover(node, right);
    left = node;
  }
}

Expr *Parser::parseBoolOp(Expr *first, bool isOr) {
  std::vector<Expr *> operands{first};
  while (accept(isOr ? TokenKind::Or : TokenKind::And))
    operands.push_back(parseBinary(isOr ? AndLevel : NotLevel));
  auto *node = make<BoolOp>(first->range.begin);
  node->op = isOr ? BoolOperator::Or : BoolOperator::And;
  node->operands = std::move(operands);
  for (Expr *operand : node->operands)
    cover(node, operand);
  return node;
}

Expr *Parser::parseCompare(Expr *first) {
  auto *node = make<Compare>(first->range.begin);
  node->left = first;
  cover(node, first);
  while (infixOf(current_).level == CompareLevel) {
    node->ops.push_back(takeCompareOperator());
    node->comparators.push_back(parseBinary(BitOrLevel));
    cover(node, node->comparators.back());
  }
  node->range = since(first->range.begin);
  return node;
}

CompareOperator Parser::takeCompareOperator() {
  switch (take().kind) {
  case TokenKind::EqualEqual: return CompareOperator::Eq;
  case TokenKind::NotEqual: return CompareOperator::Ne;
  case TokenKind::Less: return CompareOperator::Lt;
  case TokenKind::LessEqual: return CompareOperator::Le;
  case TokenKind::Greater: return CompareOperator::Gt;
  case TokenKind::GreaterEqual: return CompareOperator::Ge;
  case TokenKind::In: return CompareOperator::In;
  case TokenKind::Not: take(); return CompareOperator::NotIn;
  default: return accept(TokenKind::Not) ? CompareOperator::IsNot : CompareOperator::Is;
  }
}

Expr *Parser::parsePrefix(int minimum) {
  UnaryOperator op;
  switch (current_->kind) {
  case TokenKind::Not:
    if (minimum > NotLevel)
      return failExpression();
    op = UnaryOperator::Not;
    break;
  case TokenKind::Minus: op = UnaryOperator::Negate; break;
  case TokenKind::Plus: op = UnaryOperator::Plus; break;
  case TokenKind::Tilde: op = UnaryOperator::Invert; break;
  default: return parsePrimary();
  }
  Nest nest(*this, expressionDepth_);
  uint32_t begin = take().begin;
  Expr *operand = parseBinary(op == UnaryOperator::Not ? NotLevel : UnaryLevel);
  auto *node = make<Unary>(begin);
  node->op = op;
  node->operand = operand;
  cover(node, operand);
  return node;
}

// ---- primaries --------------------------------------------------------------------------

// primary: atom, then any number of .name (arguments) [index]
Expr *Parser::parsePrimary() {
  uint32_t begin = current_->begin;
  bool isAwait = accept(TokenKind::Await);
  Expr *value = parseAtom();
  for (;;) {
    if (at(TokenKind::Dot)) {
      take();
      auto *node = make<Attribute>(begin);
      node->object = value;
      if (!expectName(node->attribute, &node->attributeRange))
        return value;
      node->range = since(begin);
      cover(node, value);
      value = node;
    } else if (at(TokenKind::LParen)) {
      value = parseCall(value);
    } else if (at(TokenKind::LBracket)) {
      value = parseSubscript(value);
    } else {
      break;
    }
    value->range.begin = begin;
  }
  return isAwait ? unsupported("await", begin) : value;
}

Expr *Parser::parseCall(Expr *callee) {
  auto *node = make<Call>(callee->range.begin);
  node->callee = callee;
  take();
  parseArguments(node->arguments, node->keywords);
  expectClose(TokenKind::RParen);
  cover(node, callee);
  for (Expr *argument : node->arguments)
    cover(node, argument);
  for (const Keyword &keyword : node->keywords)
    cover(node, keyword.value);
  node->range = since(callee->range.begin);
  return node;
}

// Up to, and not including, the closing parenthesis; calls and bases of classes.
void Parser::parseArguments(std::vector<Expr *> &arguments, std::vector<Keyword> &keywords) {
  bool afterUnpacking = false; // of keywords, `**a`
  while (!at(TokenKind::RParen)) {
    parseArgument(arguments, keywords, afterUnpacking);
    if (!accept(TokenKind::Comma))
      break;
  }
  checkKeywords(keywords);
}

void Parser::parseArgument(std::vector<Expr *> &arguments, std::vector<Keyword> &keywords,
                           bool &afterUnpacking) {
  uint32_t begin = current_->begin;
  if (accept(TokenKind::DoubleStar)) {
    afterUnpacking = true;
    Expr *value = parseExpression();
    keywords.push_back({"", value, since(begin)});
    return;
  }
  if (at(TokenKind::Star)) {
    if (afterUnpacking)
      failHere(Kind::StarAfterDoubleStar);
    take();
    Expr *value = parseExpression();
    auto *starred = make<Starred>(begin);
    starred->value = value;
    cover(starred, value);
    arguments.push_back(starred);
    return;
  }
  if (nextIs(TokenKind::Equal) && (at(TokenKind::Identifier) || isKeyword(current_->kind))) {
    std::string name;
    if (!expectName(name))
      return;
    take();
    if (at(TokenKind::Comma) || at(TokenKind::RParen)) {
      failHere(Kind::MissingArgumentValue, {name});
      return;
    }
    Expr *value = parseExpression();
    if (atComprehension())
      fail(Kind::GeneratorNeedsParentheses, since(value->range.begin));
    keywords.push_back({std::move(name), value, since(begin)});
    return;
  }
  Expr *value = parseNamedExpression();
  if (atComprehension()) {
    std::vector<Comprehension> generators;
    parseGenerators(generators);
    value = unsupported("generator expression", begin);
    if (!arguments.empty() || !keywords.empty() || !at(TokenKind::RParen))
      fail(Kind::GeneratorNeedsParentheses, value->range);
  } else if (at(TokenKind::Equal)) {
    fail(Kind::AssignInCall, value->range, {describe(value)});
  }
  if (!keywords.empty())
    fail(Kind::PositionalAfterKeyword, value->range,
         {afterUnpacking ? "`**` unpacking" : "a keyword argument"});
  arguments.push_back(value);
}

void Parser::checkKeywords(const std::vector<Keyword> &keywords) {
  if (keywords.size() < 2 || panic_)
    return;
  std::vector<const Keyword *> ordered;
  for (const Keyword &keyword : keywords)
    if (!keyword.name.empty())
      ordered.push_back(&keyword);
  std::sort(ordered.begin(), ordered.end(),
            [](auto *a, auto *b) { return std::tie(a->name, a) < std::tie(b->name, b); });
  auto repeated =
      std::adjacent_find(ordered.begin(), ordered.end(), [](auto *a, auto *b) { return a->name == b->name; });
  if (repeated != ordered.end())
    report(Kind::RepeatedKeyword, (*(repeated + 1))->range, {(*repeated)->name});
}

Expr *Parser::parseSubscript(Expr *object) {
  auto *node = make<Subscript>(object->range.begin);
  node->object = object;
  take();
  uint32_t begin = current_->begin;
  Expr *index = parseSlice();
  if (at(TokenKind::Comma) || index->kind == NodeKind::Starred) {
    std::vector<Expr *> elements{index};
    while (accept(TokenKind::Comma) && !at(TokenKind::RBracket))
      elements.push_back(parseSlice());
    auto *tuple = make<Tuple>(begin);
    tuple->elements = std::move(elements);
    for (Expr *element : tuple->elements)
      cover(tuple, element);
    index = tuple;
  }
  node->index = index;
  expectClose(TokenKind::RBracket);
  cover(node, object);
  cover(node, index);
  node->range = since(object->range.begin);
  return node;
}

// slice: [expression] ':' [expression] [':' [expression]] | named_expression | '*' expression
Expr *Parser::parseSlice() {
  uint32_t begin = current_->begin;
  if (accept(TokenKind::Star)) {
    Expr *value = parseExpression();
    auto *starred = make<Starred>(begin);
    starred->value = value;
    cover(starred, value);
    return starred;
  }
  bool isNamed = at(TokenKind::Identifier) && nextIs(TokenKind::ColonEqual);
  Expr *lower = at(TokenKind::Colon) ? nullptr : parseNamedExpression();
  if (lower && (isNamed || !at(TokenKind::Colon)))
    return lower;
  auto part = [&]() -> Expr * {
    bool isEmpty = at(TokenKind::Colon) || at(TokenKind::Comma) || at(TokenKind::RBracket);
    return isEmpty ? nullptr : parseExpression();
  };
  take();
  Expr *upper = part();
  Expr *step = accept(TokenKind::Colon) ? part() : nullptr;
  auto *slice = make<Slice>(begin);
  slice->lower = lower;
  slice->upper = upper;
  slice->step = step;
  for (Expr *child : {lower, upper, step})
    cover(slice, child);
  return slice;
}

// yield_expr: 'yield' 'from' expression | 'yield' [star_expressions]
Expr *Parser::parseYield() {
  uint32_t begin = take().begin;
  if (accept(TokenKind::From)) {
    parseExpression();
    return unsupported("yield from", begin);
  }
  bool isBare = at(TokenKind::Newline) || at(TokenKind::RParen) || at(TokenKind::Equal) ||
                at(TokenKind::Semicolon) || at(TokenKind::RBrace) || at(TokenKind::Bang) ||
                at(TokenKind::Colon) || at(TokenKind::EndOfFile);
  if (!isBare)
    parseStarExpressions();
  return unsupported("yield", begin);
}

// lambdef: 'lambda' [parameters] ':' expression
Expr *Parser::parseLambda() {
  uint32_t begin = take().begin;
  std::vector<Parameter> parameters;
  parseParameters(parameters, TokenKind::Colon);
  if (!accept(TokenKind::Colon))
    failHere(Kind::ExpectedColon, {"the parameters of `lambda`", describe(*current_)});
  if (at(TokenKind::FormatText) || at(TokenKind::FormatEnd))
    failHere(Kind::FormatLambda);
  parseExpression();
  return unsupported("lambda", begin);
}

} // namespace tegula::syntax
