// The door (limits, encoding), the token cursor, and what happens on an error.
#include "diag/Utf8.h"
#include "syntax/Characters.h"
#include "syntax/NameForms.h"
#include "syntax/Parsing.h"

#include <algorithm>

namespace tegula::syntax {

using diag::Kind;

namespace {

constexpr Token endTokens[4] = {};

// The encoding that a comment in the first two lines names, PEP 263; empty if none does.
std::string declaredEncoding(std::string_view text) {
  for (int line = 0; line < 2; ++line) {
    size_t end = std::min(text.find_first_of("\r\n"), text.size());
    std::string_view comment = text.substr(0, end);
    size_t at = comment.find("coding");
    if (comment.find('#') < at && at != std::string_view::npos && at + 7 < comment.size() &&
        (comment[at + 6] == ':' || comment[at + 6] == '=')) {
      size_t begin = comment.find_first_not_of(" \t", at + 7);
      size_t stop = begin;
      while (stop < comment.size() && (std::isalnum(static_cast<unsigned char>(comment[stop])) ||
                                       comment[stop] == '-' || comment[stop] == '_' || comment[stop] == '.'))
        ++stop;
      if (begin != std::string_view::npos)
        return std::string(comment.substr(begin, stop - begin));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {};
}

// Returns true if the text can be read at all; reports the one reason why not.
bool checkText(const diag::SourcePtr &source, diag::Sink &sink) {
  std::string_view text = source->text();
  if (text.size() > maxTextBytes) {
    sink.report(Kind::FileTooLarge, {source, {0, 0}}, {source->path(), std::to_string(text.size())});
    return false;
  }
  auto place = [&](size_t offset) {
    uint32_t at = static_cast<uint32_t>(offset);
    return diag::Location{source, {at, at + 1}};
  };
  if (size_t nul = text.find('\0'); nul != std::string_view::npos) {
    sink.report(Kind::FileNotText, place(nul), {source->path(), std::to_string(nul)});
    return false;
  }
  size_t bad = diag::findInvalidUtf8(text);
  if (bad == std::string_view::npos)
    return true;
  std::string encoding = declaredEncoding(text);
  if (encoding.empty() || encoding.starts_with("utf"))
    sink.report(Kind::InvalidUtf8, place(bad));
  else
    sink.report(Kind::UnsupportedEncoding, place(bad), {encoding});
  return false;
}

} // namespace

std::shared_ptr<const Tree> parse(diag::SourcePtr source, diag::Sink &sink) {
  auto tree = std::make_shared<Tree>(source);
  if (checkText(source, sink))
    Parser(*tree, sink).parseModule();
  return tree;
}

Parser::Parser(Tree &tree, diag::Sink &sink) : tree_(tree), sink_(sink), lexer_(tree.source) { lex(); }

void Parser::parseModule() {
  while (!at(TokenKind::EndOfFile))
    parseStatement(tree_.body);
}

// ---- tokens -----------------------------------------------------------------------------

void Parser::lex() {
  tokens_.clear();
  lexer_.run(tokens_);
  // Looking ahead needs no check for the end.
  tokens_.insert(tokens_.end(), std::begin(endTokens), std::end(endTokens));
  current_ = tokens_.data();
}

Token Parser::take() {
  Token token = *current_;
  if (token.kind == TokenKind::EndOfFile)
    return token;
  ++current_;
  bool hasText =
      token.kind != TokenKind::Newline && token.kind != TokenKind::Indent && token.kind != TokenKind::Dedent;
  if (hasText)
    previousEnd_ = token.end;
  return token;
}

bool Parser::accept(TokenKind kind) {
  if (!at(kind))
    return false;
  take();
  return true;
}

bool Parser::expect(TokenKind kind) {
  if (accept(kind))
    return true;
  failHere(Kind::ExpectedToken, {description(kind), describe(*current_)});
  return false;
}

bool Parser::expectName(std::string &name, diag::Range *range) {
  if (at(TokenKind::Identifier)) {
    Token token = take();
    name = normalName(text(token));
    if (range)
      *range = {token.begin, token.end};
    return true;
  }
  if (isKeyword(current_->kind))
    failHere(Kind::KeywordAsName, {text(*current_)});
  else
    failHere(Kind::ExpectedToken, {"a name", describe(*current_)});
  return false;
}

std::string Parser::describe(const Token &token) const {
  switch (token.kind) {
  case TokenKind::Identifier:
  case TokenKind::Number: {
    std::string_view shown = text(token);
    return shown.size() > 40 ? description(token.kind) : "`" + std::string(shown) + "`";
  }
  default: return description(token.kind);
  }
}

// ---- errors -----------------------------------------------------------------------------

diag::Diagnostic &Parser::report(Kind kind, diag::Range range,
                                 std::initializer_list<std::string_view> arguments) {
  ++errors_;
  return sink_.report(kind, tree_.at(range), arguments);
}

diag::Diagnostic *Parser::fail(Kind kind, diag::Range range,
                               std::initializer_list<std::string_view> arguments) {
  if (panic_)
    return nullptr;
  panicAt_ = current_;
  panic_ = true;
  diag::Diagnostic *reported = nullptr;
  if (at(TokenKind::Error)) {
    ++errors_;
    sink_.report(*lexer_.error());
  } else if (bracketLeftOpenBefore(range.begin)) {
    uint32_t bracket = lexer_.unclosedBracket();
    bracketReported_ = true;
    report(Kind::UnclosedBracket, {bracket, bracket + 1}, {tree_.source->text().substr(bracket, 1)});
  } else {
    reported = &report(kind, range, arguments);
  }
  current_ = endTokens;
  return reported;
}

diag::Diagnostic *Parser::failHere(Kind kind, std::initializer_list<std::string_view> arguments) {
  return fail(kind, here(), arguments);
}

void Parser::failNesting() {
  if (!panic_)
    failHere(Kind::NestingTooDeep, {std::to_string(maxNesting)});
  stopped_ = true;
}

// The current token, or the place behind the last one where a line ends too early.
diag::Range Parser::here() const {
  switch (current_->kind) {
  case TokenKind::Newline:
  case TokenKind::EndOfFile:
  case TokenKind::Indent:
  case TokenKind::Dedent: return {previousEnd_, previousEnd_};
  default: return {current_->begin, current_->end};
  }
}

// An error that stands lines behind a bracket without an end is that bracket's fault. Where
// the lexer stopped before it could tell, a line in between does, indented like a statement.
bool Parser::bracketLeftOpenBefore(uint32_t offset) const {
  if (!lexer_.error() || !lexer_.hasOpenBracket())
    return false;
  const Token *token = current_;
  while (token->kind != TokenKind::Error && token->kind != TokenKind::Newline &&
         token->kind != TokenKind::EndOfFile)
    ++token;
  const diag::Source &source = *tree_.source;
  diag::Position bracket = source.position(lexer_.unclosedBracket()), place = source.position(offset);
  if (token->kind != TokenKind::Error || bracket.line >= place.line)
    return false;
  return lexer_.error()->kind == Kind::UnclosedBracket ||
         statementLineAfter(lexer_.unclosedBracket()) <= current_->begin;
}

Expr *Parser::invalid() { return make<InvalidExpr>(current_->begin ? current_->begin : previousEnd_); }

// ---- recovery ---------------------------------------------------------------------------

// Goes on at the line behind the one that failed. The block under a failed header is read
// for its own errors, and so are the clauses that belong to it.
void Parser::recover() {
  panic_ = false;
  if (stopped_)
    return stop();
  current_ = panicAt_;
  bool wasInFunction = inFunction_, wasInLoop = inLoop_;
  inFunction_ = inLoop_ = true;
  do {
    skipLine();
    if (!at(TokenKind::Indent))
      continue;
    take();
    Nest nest(*this, blockDepth_);
    Block discarded;
    while (!at(TokenKind::Dedent) && !at(TokenKind::EndOfFile) && !panic_)
      parseStatement(discarded);
    accept(TokenKind::Dedent);
  } while (!panic_ &&
           (at(TokenKind::Elif) || at(TokenKind::Else) || at(TokenKind::Except) || at(TokenKind::Finally)));
  inFunction_ = wasInFunction;
  inLoop_ = wasInLoop;
  if (panic_) {
    panic_ = false;
    stop();
  }
}

void Parser::skipLine() {
  while (!at(TokenKind::Newline) && !at(TokenKind::EndOfFile) && !at(TokenKind::Error) &&
         !at(TokenKind::Indent) && !at(TokenKind::Dedent))
    ++current_;
  if (at(TokenKind::Error))
    restartAfterError();
  else
    accept(TokenKind::Newline);
}

void Parser::restartAfterError() {
  const diag::Diagnostic &error = *lexer_.error();
  uint32_t offset = lineAfter(std::max(current_->end, error.location.range.end));
  switch (error.kind) {
  case Kind::NestingTooDeep:
  case Kind::UnterminatedTripleString: // what follows is text as much as code
  case Kind::UnexpectedEnd: return stop();
  case Kind::UnindentMismatch:
  case Kind::InconsistentTabs:
    offset = error.location.range.begin; // the lexer takes the line as it is from now on
    break;
  case Kind::UnclosedBracket: offset = statementLineAfter(lexer_.unclosedBracket()); break;
  default:
    if (lexer_.hasOpenBracket())
      offset = statementLineAfter(bracketReported_ ? lexer_.unclosedBracket() : current_->begin);
    break;
  }
  bracketReported_ = false;
  lexer_.restartAt(offset);
  lex();
}

uint32_t Parser::lineAfter(uint32_t offset) const {
  std::string_view text = tree_.source->text();
  while (offset < text.size() && !isNewline(text[offset]))
    ++offset;
  if (offset + 1 < text.size() && text[offset] == '\r' && text[offset + 1] == '\n')
    ++offset;
  return std::min(offset + 1, static_cast<uint32_t>(text.size()));
}

// The next line that is indented no more than the open block and so may start a statement.
uint32_t Parser::statementLineAfter(uint32_t offset) const {
  std::string_view text = tree_.source->text();
  for (uint32_t line = lineAfter(offset); line < text.size(); line = lineAfter(line)) {
    unsigned column = 0;
    uint32_t first = line;
    for (; first < text.size() && (text[first] == ' ' || text[first] == '\t'); ++first)
      column = text[first] == '\t' ? (column / 8 + 1) * 8 : column + 1;
    bool isStatement =
        first < text.size() && std::string_view("\r\n#)]}").find(text[first]) == std::string_view::npos;
    if (isStatement && column <= lexer_.indentation())
      return line;
  }
  return static_cast<uint32_t>(text.size());
}

void Parser::stop() {
  stopped_ = true;
  current_ = endTokens;
}

// ---- nodes ------------------------------------------------------------------------------

Expr *Parser::unsupported(std::string_view what, uint32_t begin) {
  auto *node = make<UnsupportedExpr>(begin);
  node->what = what;
  return node;
}

Stmt *Parser::unsupportedStmt(std::string_view what, uint32_t begin, Block body) {
  auto *node = make<UnsupportedStmt>(begin);
  node->what = what;
  node->body = std::move(body);
  return node;
}

void Parser::cover(Expr *parent, const Expr *child) {
  if (!child || child->height < parent->height)
    return;
  parent->height = static_cast<uint16_t>(child->height + 1);
  if (parent->height > maxExpressionHeight) {
    fail(Kind::ExpressionTooHigh, parent->range, {std::to_string(maxExpressionHeight)});
    parent->height = maxExpressionHeight;
  }
}

} // namespace tegula::syntax
