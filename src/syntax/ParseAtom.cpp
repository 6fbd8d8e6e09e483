// Atoms: names, constants, and what stands in brackets.
#include "syntax/NameForms.h"
#include "syntax/Parsing.h"

namespace tegula::syntax {

using diag::Kind;

Expr *Parser::parseAtom() {
  uint32_t begin = current_->begin;
  switch (current_->kind) {
  case TokenKind::Identifier: {
    Token token = take();
    auto *node = make<Name>(begin);
    node->id = normalName(text(token));
    return node;
  }
  case TokenKind::Number: return parseNumber();
  case TokenKind::String:
  case TokenKind::FormatStart: return parseStrings();
  case TokenKind::LParen: return parseParenthesized();
  case TokenKind::LBracket: return parseList();
  case TokenKind::LBrace: return parseBraces();
  case TokenKind::None: take(); return make<NoneLiteral>(begin);
  case TokenKind::True:
  case TokenKind::False: {
    bool value = take().kind == TokenKind::True;
    auto *node = make<BoolLiteral>(begin);
    node->value = value;
    return node;
  }
  case TokenKind::Ellipsis: take(); return make<EllipsisLiteral>(begin);
  default: return failExpression();
  }
}

// There must be an expression here, and there is none.
Expr *Parser::failExpression() {
  const Token &token = *current_;
  const Token *previous = !panic_ && current_ != tokens_.data() ? current_ - 1 : nullptr;
  if (diag::Diagnostic *error = failHere(Kind::ExpectedExpression, {describe(token)})) {
    bool increment = previous && previous != tokens_.data() && previous->kind == previous[-1].kind &&
                     (previous->kind == TokenKind::Plus || previous->kind == TokenKind::Minus);
    bool doubled = previous && previous->kind == token.kind && previous->end == token.begin;
    if (token.kind == TokenKind::Lambda)
      error->hint = "put the lambda in parentheses";
    else if (token.kind == TokenKind::Not)
      error->hint = "put the `not ...` in parentheses";
    else if (token.kind == TokenKind::Yield)
      error->hint = "put the `yield` in parentheses";
    else if (token.kind == TokenKind::Newline && increment)
      error->hint = previous->kind == TokenKind::Plus ? "there is no `++`; write `+= 1`"
                                                      : "there is no `--`; write `-= 1`";
    else if (doubled && token.kind == TokenKind::Amp)
      error->hint = "there is no `&&`; write `and`";
    else if (doubled && token.kind == TokenKind::Bar)
      error->hint = "there is no `||`; write `or`";
    else if (isKeyword(token.kind) && startsStatement(token.kind))
      error->hint = "`" + std::string(text(token)) + "` is a keyword and cannot be used as a name";
  }
  return invalid();
}

bool Parser::expectClose(TokenKind close) {
  if (accept(close))
    return true;
  // Something that could start an operand: most often a comma was forgotten before it.
  switch (current_->kind) {
  case TokenKind::Equal: failHere(Kind::AssignInExpression); break;
  case TokenKind::Identifier:
  case TokenKind::Number:
  case TokenKind::String:
  case TokenKind::FormatStart:
  case TokenKind::None:
  case TokenKind::True:
  case TokenKind::False:
  case TokenKind::LBrace: failHere(Kind::MissingComma, {description(close), describe(*current_)}); break;
  default: failHere(Kind::ExpectedToken, {description(close), describe(*current_)}); break;
  }
  return false;
}

// Elements behind a first one, up to `close`; true if there is a comma at all.
bool Parser::parseElements(std::vector<Expr *> &elements, TokenKind close) {
  bool hasComma = false;
  while (accept(TokenKind::Comma)) {
    hasComma = true;
    if (at(close))
      break;
    elements.push_back(parseStarNamedExpression());
    if (atComprehension())
      fail(Kind::ComprehensionTarget, {elements.front()->range.begin, elements.back()->range.end});
  }
  return hasComma;
}

// '(' ')', a tuple, a generator expression, or what is only grouped.
Expr *Parser::parseParenthesized() {
  uint32_t begin = take().begin;
  if (accept(TokenKind::RParen))
    return make<Tuple>(begin);
  if (at(TokenKind::Yield)) {
    Expr *value = parseYield();
    expectClose(TokenKind::RParen);
    return value;
  }
  std::vector<Expr *> elements{parseStarNamedExpression()};
  if (atComprehension()) {
    if (elements[0]->kind == NodeKind::Starred)
      fail(Kind::UnpackingInComprehension, elements[0]->range);
    std::vector<Comprehension> generators;
    parseGenerators(generators);
    expectClose(TokenKind::RParen);
    return unsupported("generator expression", begin);
  }
  bool isTuple = parseElements(elements, TokenKind::RParen);
  expectClose(TokenKind::RParen);
  if (!isTuple) {
    if (elements[0]->kind == NodeKind::Starred)
      fail(Kind::StarredAlone, elements[0]->range);
    return elements[0];
  }
  auto *tuple = make<Tuple>(begin);
  tuple->elements = std::move(elements);
  for (Expr *element : tuple->elements)
    cover(tuple, element);
  return tuple;
}

Expr *Parser::parseList() {
  uint32_t begin = take().begin;
  std::vector<Expr *> elements;
  if (!at(TokenKind::RBracket)) {
    elements.push_back(parseStarNamedExpression());
    if (atComprehension()) {
      if (elements[0]->kind == NodeKind::Starred)
        fail(Kind::UnpackingInComprehension, elements[0]->range);
      std::vector<Comprehension> generators;
      bool isAsync = parseGenerators(generators);
      expectClose(TokenKind::RBracket);
      if (isAsync)
        return unsupported("async comprehension", begin);
      auto *node = make<ListComp>(begin);
      node->element = elements[0];
      cover(node, elements[0]);
      for (const Comprehension &generator : generators) {
        cover(node, generator.target);
        cover(node, generator.iterable);
        for (Expr *condition : generator.conditions)
          cover(node, condition);
      }
      node->generators = std::move(generators);
      return node;
    }
    parseElements(elements, TokenKind::RBracket);
  }
  expectClose(TokenKind::RBracket);
  auto *list = make<List>(begin);
  list->elements = std::move(elements);
  for (Expr *element : list->elements)
    cover(list, element);
  return list;
}

// (['async'] 'for' targets 'in' disjunction ('if' disjunction)*)+; true if one is async.
bool Parser::parseGenerators(std::vector<Comprehension> &generators) {
  bool isAsync = false;
  while (atComprehension()) {
    isAsync |= accept(TokenKind::Async);
    take();
    Comprehension generator;
    generator.target = parseTargets(TargetUse::For);
    if (!accept(TokenKind::In))
      failHere(Kind::ExpectedToken, {"`in`", describe(*current_)});
    generator.iterable = parseDisjunction();
    while (accept(TokenKind::If))
      generator.conditions.push_back(parseDisjunction());
    generators.push_back(std::move(generator));
  }
  return isAsync;
}

// Dict and set displays and comprehensions: read, and of no use in a kernel.
Expr *Parser::parseBraces() {
  uint32_t begin = take().begin;
  std::string what = "dict display";
  if (!at(TokenKind::RBrace)) {
    if (at(TokenKind::DoubleStar)) {
      parseDictEntries(begin, what);
    } else {
      bool mayBeKey = !at(TokenKind::Star) && !nextIs(TokenKind::ColonEqual);
      Expr *first = parseStarNamedExpression();
      if (at(TokenKind::Colon) && mayBeKey) {
        take();
        if (at(TokenKind::Comma) || at(TokenKind::RBrace))
          failHere(Kind::MissingDictValue);
        parseExpression();
        if (atComprehension()) {
          std::vector<Comprehension> generators;
          parseGenerators(generators);
          what = "dict comprehension";
        } else if (accept(TokenKind::Comma)) {
          parseDictEntries(begin, what);
        }
      } else if (atComprehension()) {
        if (first->kind == NodeKind::Starred)
          fail(Kind::UnpackingInComprehension, first->range);
        std::vector<Comprehension> generators;
        parseGenerators(generators);
        what = "set comprehension";
      } else {
        std::vector<Expr *> elements{first};
        parseElements(elements, TokenKind::RBrace);
        what = "set display";
      }
    }
  }
  expectClose(TokenKind::RBrace);
  return unsupported(what, begin);
}

// (expression ':' expression | '**' bitwise_or) separated by commas.
void Parser::parseDictEntries(uint32_t begin, std::string &what) {
  while (!at(TokenKind::RBrace)) {
    if (accept(TokenKind::DoubleStar)) {
      parseBinary(BitOrLevel);
      if (atComprehension())
        fail(Kind::UnpackingInComprehension, since(begin));
    } else {
      parseExpression();
      if (!accept(TokenKind::Colon)) {
        failHere(Kind::ExpectedToken, {"`:` behind a key of the dict", describe(*current_)});
        return;
      }
      if (at(TokenKind::Comma) || at(TokenKind::RBrace))
        failHere(Kind::MissingDictValue);
      parseExpression();
    }
    if (!accept(TokenKind::Comma))
      return;
  }
}

} // namespace tegula::syntax
