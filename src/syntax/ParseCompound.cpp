// Statements with blocks; match is in ParseMatch.cpp.
#include "syntax/Parsing.h"

#include <algorithm>
#include <tuple>

namespace tegula::syntax {

using diag::Kind;

// ':' and the block behind it: indented lines, or simple statements on the same line.
Block Parser::parseBlock(std::string_view what, const Token &header) {
  Block block;
  if (!at(TokenKind::Colon)) {
    bool isElseIf = header.kind == TokenKind::Else && at(TokenKind::If);
    bool isEqual = at(TokenKind::Equal);
    diag::Diagnostic *error = isEqual ? failHere(Kind::AssignInExpression)
                                      : failHere(Kind::ExpectedColon, {what, describe(*current_)});
    if (error && isElseIf)
      error->hint = "write `elif`";
    return block;
  }
  Token colon = take();
  if (!accept(TokenKind::Newline)) {
    parseSimpleLine(block);
    return block;
  }
  if (!at(TokenKind::Indent)) {
    // A line whose indentation is wrong says so itself.
    if (!at(TokenKind::Error)) {
      std::string line = std::to_string(tree_.source->position(header.begin).line);
      report(Kind::ExpectedBlock, at(TokenKind::EndOfFile) ? diag::Range{colon.begin, colon.end} : here(),
             {what, line});
    }
    return block;
  }
  take();
  Nest nest(*this, blockDepth_);
  while (!at(TokenKind::Dedent) && !at(TokenKind::EndOfFile) && !panic_)
    parseStatement(block);
  accept(TokenKind::Dedent);
  return block;
}

// named_expression, in a header.
Expr *Parser::parseCondition(std::string_view what) {
  if (at(TokenKind::Colon))
    failHere(Kind::MissingCondition, {what});
  Expr *condition = parseNamedExpression();
  if (at(TokenKind::Equal))
    failHere(Kind::AssignInExpression);
  return condition;
}

// `elif` is taken in a loop, not by recursion; the tree it makes is as deep as there are,
// so their number counts.
Stmt *Parser::parseIf() {
  std::vector<If *> chain;
  unsigned outerElifs = elifDepth_;
  do {
    Token keyword = take();
    bool isElif = keyword.kind == TokenKind::Elif;
    if (isElif && ++elifDepth_ > maxExpressionHeight)
      failNesting();
    Expr *condition = parseCondition(isElif ? "`elif`" : "`if`");
    Block body = parseBlock(isElif ? "the `elif` condition" : "the `if` condition", keyword);
    auto *node = make<If>(keyword.begin);
    node->condition = condition;
    node->body = std::move(body);
    if (!chain.empty())
      chain.back()->orelse = {node};
    chain.push_back(node);
  } while (at(TokenKind::Elif));
  if (at(TokenKind::Else)) {
    Token keyword = take();
    chain.back()->orelse = parseBlock("`else`", keyword);
  }
  elifDepth_ = outerElifs;
  for (If *node : chain)
    node->range = since(node->range.begin);
  return chain.front();
}

Stmt *Parser::parseWhile() {
  Token keyword = take();
  bool outerLoop = inLoop_;
  Expr *condition = parseCondition("`while`");
  inLoop_ = true;
  Block body = parseBlock("the `while` condition", keyword);
  inLoop_ = outerLoop;
  Block orelse;
  if (at(TokenKind::Else)) {
    Token otherwise = take();
    orelse = parseBlock("`else`", otherwise);
  }
  auto *node = make<While>(keyword.begin);
  node->condition = condition;
  node->body = std::move(body);
  node->orelse = std::move(orelse);
  return node;
}

// 'for' star_targets 'in' star_expressions ':' block ['else' ':' block]
Stmt *Parser::parseFor(bool isAsync) {
  Token keyword = take();
  bool outerLoop = inLoop_;
  Expr *target = parseTargets(TargetUse::For);
  if (!accept(TokenKind::In))
    failHere(Kind::ExpectedToken, {"`in` behind the `for` variable", describe(*current_)});
  Expr *iterable = parseStarExpressions();
  inLoop_ = true;
  Block body = parseBlock("the `for` loop", keyword);
  inLoop_ = outerLoop;
  Block orelse;
  if (at(TokenKind::Else)) {
    Token otherwise = take();
    orelse = parseBlock("`else`", otherwise);
  }
  if (isAsync) {
    body.insert(body.end(), orelse.begin(), orelse.end());
    return unsupportedStmt("async for", keyword.begin, std::move(body));
  }
  auto *node = make<For>(keyword.begin);
  node->target = target;
  node->iterable = iterable;
  node->body = std::move(body);
  node->orelse = std::move(orelse);
  return node;
}

// ---- with -------------------------------------------------------------------------------

Stmt *Parser::parseWith(bool isAsync) {
  Token keyword = take();
  std::vector<WithItem> items;
  if (at(TokenKind::LParen) && withItemsInParentheses()) {
    take();
    while (parseWithItem(items) && accept(TokenKind::Comma) && !at(TokenKind::RParen))
      continue;
    expectClose(TokenKind::RParen);
  } else {
    while (parseWithItem(items) && accept(TokenKind::Comma))
      continue;
  }
  Block body = parseBlock("the `with` statement", keyword);
  if (isAsync)
    return unsupportedStmt("async with", keyword.begin, std::move(body));
  auto *node = make<With>(keyword.begin);
  node->items = std::move(items);
  node->body = std::move(body);
  return node;
}

// with_item: expression ['as' star_target]; false in panic.
bool Parser::parseWithItem(std::vector<WithItem> &items) {
  WithItem item;
  item.context =
      at(TokenKind::LParen) || !nextIs(TokenKind::ColonEqual) ? parseExpression() : parseNamedExpression();
  if (accept(TokenKind::As)) {
    item.target = parsePrimary();
    checkTarget(item.target, TargetUse::With);
  }
  items.push_back(item);
  return !panic_;
}

// True if the parentheses behind `with` hold items, false if they are part of an expression: items if
// `:` follows, unless something stands inside that only an expression may hold.
bool Parser::withItemsInParentheses() const {
  unsigned depth = 0;
  const Token *token = current_;
  if (token[1].kind == TokenKind::Yield || token[1].kind == TokenKind::RParen)
    return false;
  for (;; ++token) {
    switch (token->kind) {
    case TokenKind::LParen:
    case TokenKind::LBracket:
    case TokenKind::LBrace: ++depth; break;
    case TokenKind::RParen:
    case TokenKind::RBracket:
    case TokenKind::RBrace:
      if (--depth == 0)
        return token[1].kind == TokenKind::Colon;
      break;
    case TokenKind::ColonEqual:
    case TokenKind::For:
      if (depth == 1)
        return false;
      break;
    case TokenKind::Star:
      if (depth == 1 && (token[-1].kind == TokenKind::LParen || token[-1].kind == TokenKind::Comma))
        return false;
      break;
    case TokenKind::Newline:
    case TokenKind::EndOfFile:
    case TokenKind::Error: return false;
    default: break;
    }
  }
}

// ---- definitions ------------------------------------------------------------------------

Stmt *Parser::parseDecorated() {
  std::vector<Expr *> decorators;
  while (accept(TokenKind::At)) {
    decorators.push_back(parseNamedExpression());
    expect(TokenKind::Newline);
  }
  switch (current_->kind) {
  case TokenKind::Def: return parseFunction(false, std::move(decorators));
  case TokenKind::Class: return parseClass(std::move(decorators));
  case TokenKind::Async:
    if (nextIs(TokenKind::Def))
      return parseAsync(std::move(decorators));
    [[fallthrough]];
  default:
    failHere(Kind::ExpectedDefinition, {describe(*current_)});
    return make<InvalidStmt>(current_->begin);
  }
}

Stmt *Parser::parseAsync(std::vector<Expr *> decorators) {
  uint32_t begin = take().begin;
  Stmt *node = nullptr;
  switch (current_->kind) {
  case TokenKind::Def: node = parseFunction(true, std::move(decorators)); break;
  case TokenKind::For: node = parseFor(true); break;
  case TokenKind::With: node = parseWith(true); break;
  default:
    failHere(Kind::ExpectedToken, {"`def`, `for` or `with` behind `async`", describe(*current_)});
    return make<InvalidStmt>(begin);
  }
  node->range.begin = begin;
  return node;
}

// 'def' NAME [type_params] '(' [params] ')' ['->' expression] ':' block
Stmt *Parser::parseFunction(bool isAsync, std::vector<Expr *> decorators) {
  Token keyword = take();
  std::string name;
  diag::Range nameRange{};
  expectName(name, &nameRange);
  bool isGeneric = at(TokenKind::LBracket);
  parseTypeParameters();
  std::vector<Parameter> parameters;
  if (!accept(TokenKind::LParen))
    failHere(Kind::ExpectedToken, {"`(` behind the name of the function", describe(*current_)});
  parseParameters(parameters, TokenKind::RParen);
  expectClose(TokenKind::RParen);
  Expr *returns = accept(TokenKind::Arrow) ? parseExpression() : nullptr;
  bool outerFunction = inFunction_, outerLoop = inLoop_;
  inFunction_ = true;
  inLoop_ = false;
  Block body = parseBlock("the function definition", keyword);
  inFunction_ = outerFunction;
  inLoop_ = outerLoop;
  if (isAsync || isGeneric)
    return unsupportedStmt(isAsync ? "async def" : "generic function", keyword.begin, std::move(body));
  auto *node = make<FunctionDef>(keyword.begin);
  node->name = std::move(name);
  node->nameRange = nameRange;
  node->decorators = std::move(decorators);
  node->parameters = std::move(parameters);
  node->returns = returns;
  node->body = std::move(body);
  return node;
}

// 'class' NAME [type_params] ['(' [arguments] ')'] ':' block
Stmt *Parser::parseClass(std::vector<Expr *> decorators) {
  Token keyword = take();
  std::string name;
  expectName(name);
  parseTypeParameters();
  if (accept(TokenKind::LParen)) {
    std::vector<Expr *> bases;
    std::vector<Keyword> keywords;
    parseArguments(bases, keywords);
    const UnsupportedExpr *only = bases.size() == 1 ? as<UnsupportedExpr>(bases[0]) : nullptr;
    if (only && only->what == "generator expression" && tree_.source->text()[only->range.begin] != '(')
      fail(Kind::GeneratorNeedsParentheses, only->range);
    expectClose(TokenKind::RParen);
  }
  bool outerFunction = inFunction_, outerLoop = inLoop_;
  inFunction_ = inLoop_ = false;
  Block body = parseBlock("the class definition", keyword);
  inFunction_ = outerFunction;
  inLoop_ = outerLoop;
  auto *node = make<ClassDef>(keyword.begin);
  node->name = std::move(name);
  node->decorators = std::move(decorators);
  node->body = std::move(body);
  return node;
}

// '[' (NAME [':' expression] | '*' NAME | '**' NAME) separated by commas ']', PEP 695.
void Parser::parseTypeParameters() {
  if (!accept(TokenKind::LBracket))
    return;
  std::string name;
  do {
    bool isPack = accept(TokenKind::Star) || accept(TokenKind::DoubleStar);
    expectName(name);
    if (!isPack && accept(TokenKind::Colon))
      parseExpression();
  } while (accept(TokenKind::Comma) && !at(TokenKind::RBracket));
  expectClose(TokenKind::RBracket);
}

// ---- parameters -------------------------------------------------------------------------

// Of a function up to `)`, with annotations, or of a lambda up to `:`, without.
void Parser::parseParameters(std::vector<Parameter> &parameters, TokenKind close) {
  bool isLambda = close == TokenKind::Colon;
  bool keywordOnly = false, slash = false, bareStar = false;
  while (!at(close) && !panic_) {
    bool afterKwArgs = !parameters.empty() && parameters.back().kind == Parameter::KwArgs;
    Token token = *current_;
    if (afterKwArgs) {
      failHere(Kind::ParameterAfterKwArgs);
    } else if (accept(TokenKind::Slash)) {
      if (slash || keywordOnly || parameters.empty())
        fail(Kind::MisplacedSlash, {token.begin, token.end});
      slash = true;
      for (Parameter &parameter : parameters)
        parameter.kind = Parameter::PositionalOnly;
    } else if (accept(TokenKind::Star)) {
      if (keywordOnly)
        fail(Kind::RepeatedStar, {token.begin, token.end});
      keywordOnly = true;
      bareStar = at(TokenKind::Comma) || at(close);
      if (!bareStar)
        parseParameter(parameters, Parameter::VarArgs, isLambda);
      else if (at(close) || current_[1].kind == close || current_[1].kind == TokenKind::DoubleStar)
        fail(Kind::BareStarAlone, {token.begin, token.end});
    } else if (accept(TokenKind::DoubleStar)) {
      parseParameter(parameters, Parameter::KwArgs, isLambda);
    } else {
      parseParameter(parameters, keywordOnly ? Parameter::KeywordOnly : Parameter::Positional, isLambda);
    }
    if (!accept(TokenKind::Comma))
      break;
  }
  checkParameterNames(parameters);
}

bool Parser::parseParameter(std::vector<Parameter> &parameters, Parameter::Kind kind, bool isLambda) {
  Parameter parameter;
  parameter.kind = kind;
  uint32_t begin = current_->begin;
  if (at(TokenKind::LParen)) {
    failHere(Kind::ParenthesizedParameter);
    return false;
  }
  if (!expectName(parameter.name))
    return false;
  if (!isLambda && accept(TokenKind::Colon))
    parameter.annotation = kind == Parameter::VarArgs ? parseStarExpression() : parseExpression();
  if (at(TokenKind::Equal)) {
    if (kind == Parameter::VarArgs || kind == Parameter::KwArgs) {
      failHere(Kind::DefaultOfVarArgs, {kind == Parameter::VarArgs ? "*" : "**", parameter.name});
      return false;
    }
    take();
    if (at(TokenKind::Comma) || at(TokenKind::RParen)) {
      failHere(Kind::ExpectedExpression, {describe(*current_)});
      return false;
    }
    parameter.defaultValue = parseExpression();
  } else if (kind == Parameter::Positional && !parameters.empty() && parameters.back().defaultValue) {
    fail(Kind::MissingDefault, since(begin), {parameter.name, parameters.back().name});
    return false;
  }
  parameter.range = since(begin);
  parameters.push_back(std::move(parameter));
  return true;
}

void Parser::checkParameterNames(const std::vector<Parameter> &parameters) {
  if (parameters.size() < 2 || panic_)
    return;
  std::vector<const Parameter *> ordered;
  for (const Parameter &parameter : parameters)
    ordered.push_back(&parameter);
  std::sort(ordered.begin(), ordered.end(),
            [](auto *a, auto *b) { return std::tie(a->name, a) < std::tie(b->name, b); });
  auto repeated =
      std::adjacent_find(ordered.begin(), ordered.end(), [](auto *a, auto *b) { return a->name == b->name; });
  if (repeated != ordered.end())
    report(Kind::DuplicateParameter, (*(repeated + 1))->range, {(*repeated)->name});
}

// ---- try --------------------------------------------------------------------------------

Stmt *Parser::parseTry() {
  Token keyword = take();
  Block body = parseBlock("`try`", keyword);
  bool anyStar = false, anyPlain = false, isBare = false;
  while (at(TokenKind::Except)) {
    Token except = *current_;
    bool wasBare = isBare, isStar = false;
    if (!parseExcept(body, isStar, isBare))
      break;
    anyStar |= isStar;
    anyPlain |= !isStar;
    if (wasBare)
      fail(Kind::BareExceptNotLast, {except.begin, except.end});
    if (anyStar && anyPlain)
      fail(Kind::MixedExcept, {except.begin, except.end});
  }
  bool hasClause = anyStar || anyPlain;
  if (hasClause && at(TokenKind::Else)) {
    Token otherwise = take();
    Block block = parseBlock("`else`", otherwise);
    body.insert(body.end(), block.begin(), block.end());
  }
  if (at(TokenKind::Finally)) {
    hasClause = true;
    Token last = take();
    Block block = parseBlock("`finally`", last);
    body.insert(body.end(), block.begin(), block.end());
  }
  if (!hasClause && !panic_)
    report(Kind::ExpectedExcept, {keyword.begin, keyword.end});
  return unsupportedStmt("try", keyword.begin, std::move(body));
}

// 'except' ['*'] [expression ['as' NAME]] ':' block
bool Parser::parseExcept(Block &body, bool &isStar, bool &isBare) {
  Token keyword = take();
  isStar = accept(TokenKind::Star);
  isBare = at(TokenKind::Colon);
  if (isBare && isStar)
    failHere(Kind::ExpectedExpression, {describe(*current_)});
  if (!isBare) {
    Expr *type = parseExpression();
    if (at(TokenKind::Comma))
      failHere(Kind::UnparenthesizedExceptions);
    std::string name;
    if (type && accept(TokenKind::As))
      expectName(name);
  }
  Block block = parseBlock("the `except` clause", keyword);
  body.insert(body.end(), block.begin(), block.end());
  return !panic_;
}

} // namespace tegula::syntax
