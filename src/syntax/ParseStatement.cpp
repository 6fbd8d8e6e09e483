// One statement, its line, and the simple statements.
#include "syntax/Parsing.h"

namespace tegula::syntax {

using diag::Kind;

void Parser::parseStatement(Block &out) {
  uint32_t begin = current_->begin;
  if (errors_ >= maxErrors) {
    sink_.report(Kind::TooManyErrors, tree_.at({begin, begin}), {std::to_string(maxErrors)});
    return stop();
  }
  if (at(TokenKind::Indent)) { // its lines still belong to the block around it
    report(Kind::UnexpectedIndent, {current_->begin, current_->end});
    take();
    Nest nest(*this, blockDepth_);
    while (!at(TokenKind::Dedent) && !at(TokenKind::EndOfFile) && !panic_)
      parseStatement(out);
    accept(TokenKind::Dedent);
    if (stopped_)
      stop();
    return;
  }
  if (Stmt *statement = parseCompound())
    out.push_back(statement);
  else
    parseSimpleLine(out);
  if (panic_) {
    recover();
    out.push_back(make<InvalidStmt>(begin));
  }
}

// Null where a simple statement starts.
Stmt *Parser::parseCompound() {
  switch (current_->kind) {
  case TokenKind::If: return parseIf();
  case TokenKind::For: return parseFor(false);
  case TokenKind::While: return parseWhile();
  case TokenKind::With: return parseWith(false);
  case TokenKind::At: return parseDecorated();
  case TokenKind::Def: return parseFunction(false, {});
  case TokenKind::Class: return parseClass({});
  case TokenKind::Async: return parseAsync({});
  case TokenKind::Try: return parseTry();
  case TokenKind::Identifier: return atMatch() ? parseMatch() : nullptr;
  default: return nullptr;
  }
}

// simple_stmts: simple_stmt (';' simple_stmt)* [';'] NEWLINE
void Parser::parseSimpleLine(Block &out) {
  for (;;) {
    const Token first = *current_;
    Stmt *statement = parseSimple();
    if (panic_)
      return;
    out.push_back(statement);
    bool more = accept(TokenKind::Semicolon);
    if (accept(TokenKind::Newline) || at(TokenKind::EndOfFile))
      return;
    if (!more)
      return failAfterStatement(first);
  }
}

struct Misspelling {
  std::string_view word, meant;
};
constexpr Misspelling misspellings[] = {
    {"elseif", "elif"}, {"elsif", "elif"},  {"function", "def"}, {"func", "def"},
    {"fn", "def"},      {"foreach", "for"}, {"switch", "match"}, {"var", ""},
    {"let", ""},        {"const", ""},      {"new", ""},
};

// The statement is complete, and its line is not at its end.
void Parser::failAfterStatement(const Token &first) {
  Token token = *current_;
  bool startsOperand = token.kind == TokenKind::Identifier || token.kind == TokenKind::Number ||
                       token.kind == TokenKind::String || token.kind == TokenKind::FormatStart;
  std::string_view word = first.kind == TokenKind::Identifier ? text(first) : "";
  bool nextToFirst =
      first.end <= token.begin && current_ - tokens_.data() > 0 && current_[-1].begin == first.begin;
  if (nextToFirst && startsOperand && (word == "print" || word == "exec")) {
    fail(Kind::MissingCallParentheses, {first.begin, token.end}, {word});
    return;
  }
  if (token.kind == TokenKind::ColonEqual) {
    failHere(Kind::UnexpectedToken, {"`:=`"})->hint =
        "put the assignment expression in parentheses, or write `=`";
    return;
  }
  diag::Diagnostic *error = failHere(Kind::UnexpectedToken, {describe(token)});
  if (!error)
    return;
  if (nextToFirst)
    for (auto [misspelled, meant] : misspellings)
      if (word == misspelled)
        error->hint = meant.empty() ? "leave `" + std::string(word) + "` out"
                                    : "did you mean `" + std::string(meant) + "`?";
  if (error->hint.empty() && startsOperand)
    error->hint = "did you forget an operator, a comma or a line break before it?";
}

Stmt *Parser::parseSimple() {
  uint32_t begin = current_->begin;
  switch (current_->kind) {
  case TokenKind::Pass: take(); return make<Pass>(begin);
  case TokenKind::Break: return parseLoopExit(true);
  case TokenKind::Continue: return parseLoopExit(false);
  case TokenKind::Return: return parseReturn();
  case TokenKind::Assert: return parseAssert();
  case TokenKind::Import: return parseImport();
  case TokenKind::From: return parseImportFrom();
  case TokenKind::Raise: return parseRaise();
  case TokenKind::Del: return parseDel();
  case TokenKind::Global: return parseScope("global");
  case TokenKind::Nonlocal: return parseScope("nonlocal");
  case TokenKind::Elif:
  case TokenKind::Else:
  case TokenKind::Except:
  case TokenKind::Finally: failHere(Kind::StrayClause, {text(*current_)}); return make<InvalidStmt>(begin);
  default: return atTypeAlias() ? parseTypeAlias() : parseExpressionStatement();
  }
}

// ---- expressions and assignments --------------------------------------------------------

Stmt *Parser::parseExpressionStatement() {
  uint32_t begin = current_->begin;
  Expr *first = at(TokenKind::Yield) ? parseYield() : parseStarExpressions();
  switch (current_->kind) {
  case TokenKind::Equal: return parseAssign(first, begin);
  case TokenKind::Colon: {
    bool plain = first->kind == NodeKind::Name || first->kind == NodeKind::Attribute ||
                 first->kind == NodeKind::Subscript;
    if (!plain) {
      bool isTuple = first->kind == NodeKind::Tuple || first->kind == NodeKind::List;
      if (isTuple)
        fail(Kind::AnnotatedTuple, first->range, {describe(first)});
      else
        failHere(Kind::UnexpectedToken, {"`:`"});
      return make<InvalidStmt>(begin);
    }
    return parseAnnAssign(first, begin);
  }
  case TokenKind::PlusEqual:
  case TokenKind::MinusEqual:
  case TokenKind::StarEqual:
  case TokenKind::SlashEqual:
  case TokenKind::DoubleSlashEqual:
  case TokenKind::PercentEqual:
  case TokenKind::AtEqual:
  case TokenKind::AmpEqual:
  case TokenKind::BarEqual:
  case TokenKind::CaretEqual:
  case TokenKind::LShiftEqual:
  case TokenKind::RShiftEqual:
  case TokenKind::DoubleStarEqual: return parseAugAssign(first, begin);
  default: {
    auto *node = make<ExprStmt>(begin);
    node->value = first;
    return node;
  }
  }
}

Expr *Parser::parseAssignedValue() { return at(TokenKind::Yield) ? parseYield() : parseStarExpressions(); }

Stmt *Parser::parseAssign(Expr *first, uint32_t begin) {
  std::vector<Expr *> targets;
  Expr *value = first;
  while (accept(TokenKind::Equal)) {
    if (!checkTarget(value, TargetUse::Assign))
      return make<InvalidStmt>(begin);
    targets.push_back(value);
    value = parseAssignedValue();
  }
  auto *node = make<Assign>(begin);
  node->targets = std::move(targets);
  node->value = value;
  return node;
}

static BinaryOperator augmentedOperator(TokenKind kind) {
  switch (kind) {
  case TokenKind::PlusEqual: return BinaryOperator::Add;
  case TokenKind::MinusEqual: return BinaryOperator::Sub;
  case TokenKind::StarEqual: return BinaryOperator::Mul;
  case TokenKind::SlashEqual: return BinaryOperator::Div;
  case TokenKind::DoubleSlashEqual: return BinaryOperator::FloorDiv;
  case TokenKind::PercentEqual: return BinaryOperator::Mod;
  case TokenKind::AtEqual: return BinaryOperator::MatMul;
  case TokenKind::AmpEqual: return BinaryOperator::And;
  case TokenKind::BarEqual: return BinaryOperator::Or;
  case TokenKind::CaretEqual: return BinaryOperator::Xor;
  case TokenKind::LShiftEqual: return BinaryOperator::LShift;
  case TokenKind::RShiftEqual: return BinaryOperator::RShift;
  default: return BinaryOperator::Pow;
  }
}

Stmt *Parser::parseAugAssign(Expr *target, uint32_t begin) {
  bool single = target->kind == NodeKind::Name || target->kind == NodeKind::Attribute ||
                target->kind == NodeKind::Subscript || target->kind == NodeKind::InvalidExpr;
  if (!single) {
    fail(Kind::InvalidAugmentedTarget, target->range, {describe(target)});
    return make<InvalidStmt>(begin);
  }
  BinaryOperator op = augmentedOperator(take().kind);
  Expr *value = parseAssignedValue();
  auto *node = make<AugAssign>(begin);
  node->target = target;
  node->op = op;
  node->value = value;
  return node;
}

Stmt *Parser::parseAnnAssign(Expr *target, uint32_t begin) {
  take();
  Expr *annotation = parseExpression();
  Expr *value = accept(TokenKind::Equal) ? parseAssignedValue() : nullptr;
  auto *node = make<AnnAssign>(begin);
  node->target = target;
  node->annotation = annotation;
  node->value = value;
  return node;
}

// ---- statements with a keyword ----------------------------------------------------------

Stmt *Parser::parseReturn() {
  Token keyword = take();
  bool isBare = at(TokenKind::Newline) || at(TokenKind::Semicolon) || at(TokenKind::EndOfFile);
  Expr *value = isBare ? nullptr : parseStarExpressions();
  if (!inFunction_ && !panic_)
    report(Kind::ReturnOutsideFunction, {keyword.begin, keyword.end});
  auto *node = make<Return>(keyword.begin);
  node->value = value;
  return node;
}

Stmt *Parser::parseLoopExit(bool isBreak) {
  Token keyword = take();
  if (!inLoop_)
    report(Kind::LoopExitOutsideLoop, {keyword.begin, keyword.end}, {text(keyword)});
  if (isBreak)
    return make<Break>(keyword.begin);
  return make<Continue>(keyword.begin);
}

Stmt *Parser::parseAssert() {
  uint32_t begin = take().begin;
  Expr *condition = parseExpression();
  Expr *message = accept(TokenKind::Comma) ? parseExpression() : nullptr;
  if (at(TokenKind::Equal))
    failHere(Kind::AssignInExpression);
  auto *node = make<Assert>(begin);
  node->condition = condition;
  node->message = message;
  return node;
}

std::string Parser::parseDottedName() {
  std::string name, part;
  if (!expectName(name))
    return name;
  while (accept(TokenKind::Dot)) {
    if (!expectName(part))
      return name;
    name += "." + part;
  }
  return name;
}

Stmt *Parser::parseImport() {
  uint32_t begin = take().begin;
  std::vector<ImportedName> names;
  do {
    ImportedName imported;
    imported.name = imported.asName = parseDottedName();
    if (accept(TokenKind::As))
      expectName(imported.asName);
    names.push_back(std::move(imported));
  } while (accept(TokenKind::Comma));
  auto *node = make<Import>(begin);
  node->names = std::move(names);
  return node;
}

Stmt *Parser::parseImportFrom() {
  uint32_t begin = take().begin;
  unsigned level = 0;
  while (at(TokenKind::Dot) || at(TokenKind::Ellipsis))
    level += take().kind == TokenKind::Dot ? 1 : 3;
  std::string module;
  if (level == 0 || !at(TokenKind::Import))
    module = parseDottedName();
  expect(TokenKind::Import);
  std::vector<ImportedName> names;
  if (at(TokenKind::Star)) {
    take();
    names.push_back({"*", "*"});
  } else if (accept(TokenKind::LParen)) {
    parseImportedNames(names);
    expectClose(TokenKind::RParen);
  } else if (parseImportedNames(names)) {
    fail(Kind::TrailingCommaInImport, since(begin));
  }
  auto *node = make<ImportFrom>(begin);
  node->module = std::move(module);
  node->level = level;
  node->names = std::move(names);
  return node;
}

// True if a comma ends the list.
bool Parser::parseImportedNames(std::vector<ImportedName> &names) {
  do {
    if (!names.empty() && !at(TokenKind::Identifier) && !isKeyword(current_->kind))
      return true;
    ImportedName imported;
    if (!expectName(imported.name))
      return false;
    imported.asName = imported.name;
    if (accept(TokenKind::As))
      expectName(imported.asName);
    names.push_back(std::move(imported));
  } while (accept(TokenKind::Comma));
  return false;
}

Stmt *Parser::parseRaise() {
  uint32_t begin = take().begin;
  bool isBare = at(TokenKind::Newline) || at(TokenKind::Semicolon) || at(TokenKind::EndOfFile);
  if (!isBare) {
    parseExpression();
    if (accept(TokenKind::From))
      parseExpression();
  }
  return unsupportedStmt("raise", begin);
}

Stmt *Parser::parseDel() {
  uint32_t begin = take().begin;
  parseTargets(TargetUse::Delete);
  return unsupportedStmt("del", begin);
}

Stmt *Parser::parseScope(std::string_view what) {
  uint32_t begin = take().begin;
  std::string name;
  do {
    expectName(name);
  } while (accept(TokenKind::Comma));
  return unsupportedStmt(what, begin);
}

bool Parser::atTypeAlias() const {
  return atWord("type") && nextIs(TokenKind::Identifier) &&
         (current_[2].kind == TokenKind::Equal || current_[2].kind == TokenKind::LBracket);
}

Stmt *Parser::parseTypeAlias() {
  uint32_t begin = take().begin;
  take();
  parseTypeParameters();
  if (expect(TokenKind::Equal))
    parseExpression();
  return unsupportedStmt("type alias", begin);
}

} // namespace tegula::syntax
