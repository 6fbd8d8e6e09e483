// match statements (PEP 634): read so that a module parses; they have no meaning in a
// kernel, so patterns make no nodes.
#include "syntax/Parsing.h"

namespace tegula::syntax {

using diag::Kind;

// `match` is an ordinary name too. What tells: a name cannot be followed by an atom, and
// no other statement ends in `:` and has `case` under it.
bool Parser::atMatch() const {
  if (!atWord("match"))
    return false;
  switch (current_[1].kind) {
  case TokenKind::Identifier:
  case TokenKind::Number:
  case TokenKind::String:
  case TokenKind::FormatStart:
  case TokenKind::None:
  case TokenKind::True:
  case TokenKind::False:
  case TokenKind::Lambda:
  case TokenKind::Await:
  case TokenKind::Tilde:
  case TokenKind::LBrace:
  case TokenKind::Ellipsis: return true;
  case TokenKind::Not: return current_[2].kind != TokenKind::In;
  case TokenKind::LParen:
  case TokenKind::LBracket:
  case TokenKind::Minus:
  case TokenKind::Plus:
  case TokenKind::Star: break;
  default: return false;
  }
  const Token *token = current_;
  while (token->kind != TokenKind::Newline && token->kind != TokenKind::EndOfFile &&
         token->kind != TokenKind::Error)
    ++token;
  return token->kind == TokenKind::Newline && token[-1].kind == TokenKind::Colon &&
         token[1].kind == TokenKind::Indent && token[2].kind == TokenKind::Identifier &&
         text(token[2]) == "case";
}

// "match" subject ':' NEWLINE INDENT case_block+ DEDENT
Stmt *Parser::parseMatch() {
  Token keyword = take();
  std::vector<Expr *> subject{parseStarNamedExpression()};
  if (!parseElements(subject, TokenKind::Colon) && subject[0]->kind == NodeKind::Starred)
    fail(Kind::StarredAlone, subject[0]->range);
  Block body;
  if (!at(TokenKind::Colon))
    failHere(Kind::ExpectedColon, {"the `match` subject", describe(*current_)});
  take();
  if (!expect(TokenKind::Newline))
    return make<InvalidStmt>(keyword.begin);
  std::string line = std::to_string(tree_.source->position(keyword.begin).line);
  if (!accept(TokenKind::Indent)) {
    report(Kind::ExpectedBlock, here(), {"the `match` statement", line});
    return make<InvalidStmt>(keyword.begin);
  }
  Nest nest(*this, blockDepth_);
  while (!at(TokenKind::Dedent) && !at(TokenKind::EndOfFile) && !panic_) {
    parseCase(body);
    if (panic_)
      recover();
  }
  accept(TokenKind::Dedent);
  return unsupportedStmt("match", keyword.begin, std::move(body));
}

// "case" patterns ['if' named_expression] ':' block
void Parser::parseCase(Block &body) {
  Token keyword = *current_;
  if (!atWord("case")) {
    failHere(Kind::ExpectedToken, {"`case`", describe(*current_)});
    return;
  }
  take();
  parsePatterns();
  if (accept(TokenKind::If))
    parseNamedExpression();
  Block block = parseBlock("the `case` pattern", keyword);
  body.insert(body.end(), block.begin(), block.end());
}

// open_sequence_pattern | pattern
void Parser::parsePatterns() {
  bool isStar = at(TokenKind::Star);
  Token first = *current_;
  parseAsPattern();
  bool isSequence = false;
  while (accept(TokenKind::Comma)) {
    isSequence = true;
    if (at(TokenKind::Colon) || at(TokenKind::If))
      break;
    parseAsPattern();
  }
  if (isStar && !isSequence)
    fail(Kind::StarredAlone, {first.begin, first.end});
}

// ('*' NAME) | or_pattern ['as' NAME]
void Parser::parseAsPattern() {
  Nest nest(*this, expressionDepth_);
  std::string name;
  if (accept(TokenKind::Star)) {
    expectName(name);
    return;
  }
  do
    parseClosedPattern();
  while (accept(TokenKind::Bar));
  if (accept(TokenKind::As)) {
    diag::Range range{};
    if (expectName(name, &range) && name == "_")
      fail(Kind::UnderscoreAsName, range);
  }
}

void Parser::parseClosedPattern() {
  switch (current_->kind) {
  case TokenKind::Number:
  case TokenKind::Minus: return parseNumberPattern();
  case TokenKind::String:
  case TokenKind::FormatStart: {
    Expr *value = parseStrings();
    if (value->kind == NodeKind::FormatString)
      fail(Kind::InvalidPattern, value->range, {"an f-string"});
    return;
  }
  case TokenKind::None:
  case TokenKind::True:
  case TokenKind::False: take(); return;
  case TokenKind::Identifier: return parseNamePattern();
  case TokenKind::LParen: take(); return parseSequencePattern(TokenKind::RParen);
  case TokenKind::LBracket: take(); return parseSequencePattern(TokenKind::RBracket);
  case TokenKind::LBrace: return parseMappingPattern();
  default: failHere(Kind::ExpectedToken, {"a pattern", describe(*current_)}); return;
  }
}

// ['-'] NUMBER [('+' | '-') imaginary]
void Parser::parseNumberPattern() {
  auto number = [&]() -> NodeKind {
    if (at(TokenKind::Number))
      return parseNumber()->kind;
    failHere(Kind::ExpectedToken, {"a number", describe(*current_)});
    return NodeKind::InvalidExpr;
  };
  accept(TokenKind::Minus);
  NodeKind real = number();
  if (!at(TokenKind::Plus) && !at(TokenKind::Minus))
    return;
  take();
  diag::Range place = here();
  if (number() != NodeKind::ImaginaryLiteral || real == NodeKind::ImaginaryLiteral)
    fail(Kind::InvalidPattern, place, {"an expression"});
}

// NAME ('.' NAME)* ['(' class arguments ')']
void Parser::parseNamePattern() {
  std::string name;
  take();
  while (accept(TokenKind::Dot))
    expectName(name);
  if (at(TokenKind::LParen))
    parseClassPattern();
}

// Behind '(' or '['.
void Parser::parseSequencePattern(TokenKind close) {
  bool isStar = at(TokenKind::Star), isSequence = close == TokenKind::RBracket;
  Token first = *current_;
  if (accept(close))
    return;
  parseAsPattern();
  while (accept(TokenKind::Comma)) {
    isSequence = true;
    if (at(close))
      break;
    parseAsPattern();
  }
  if (isStar && !isSequence)
    fail(Kind::StarredAlone, {first.begin, first.end});
  expectClose(close);
}

// '{' (key ':' pattern | '**' NAME) separated by commas '}'
void Parser::parseMappingPattern() {
  take();
  std::string name;
  while (!at(TokenKind::RBrace) && !panic_) {
    if (accept(TokenKind::DoubleStar)) {
      expectName(name);
      accept(TokenKind::Comma);
      break;
    }
    Token key = *current_;
    parseClosedPattern();
    bool isCapture = key.kind == TokenKind::Identifier && current_[-1].begin == key.begin;
    bool isKey =
        key.kind != TokenKind::LParen && key.kind != TokenKind::LBracket && key.kind != TokenKind::LBrace;
    if (!panic_ && (isCapture || !isKey || current_[-1].kind == TokenKind::RParen))
      fail(Kind::InvalidPattern, {key.begin, key.end}, {"a pattern as a key"});
    if (!accept(TokenKind::Colon))
      failHere(Kind::ExpectedToken, {"`:` behind the key", describe(*current_)});
    parseAsPattern();
    if (!accept(TokenKind::Comma))
      break;
  }
  expectClose(TokenKind::RBrace);
}

// '(' (pattern | NAME '=' pattern) separated by commas ')'
void Parser::parseClassPattern() {
  take();
  bool anyKeyword = false;
  while (!at(TokenKind::RParen) && !panic_) {
    Token first = *current_;
    bool isKeyword = at(TokenKind::Identifier) && nextIs(TokenKind::Equal);
    if (isKeyword) {
      take();
      take();
    } else if (anyKeyword) {
      fail(Kind::PositionalAfterKeyword, {first.begin, first.end}, {"a keyword pattern"});
    }
    if (at(TokenKind::Star))
      failHere(Kind::StarredAlone);
    anyKeyword |= isKeyword;
    parseAsPattern();
    if (!accept(TokenKind::Comma))
      break;
  }
  expectClose(TokenKind::RParen);
}

} // namespace tegula::syntax
