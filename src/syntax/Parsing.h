// The parser's state, private to this module: a recursive descent over the tokens, one
// function a rule of Python's grammar (its names are quoted there), operators by
// precedence climbing.
//
// Errors: `fail` reports and puts the parser in panic, where every token reads as the end
// of the file, so that all rules return (with InvalidExpr where they promise a node) and
// report nothing more; the statement that failed recovers at the next line. Recursion is
// limited by `Nest` and by the height of expressions.
#pragma once
#include "syntax/Lexer.h"
#include "syntax/Parser.h"

#include <optional>

namespace tegula::syntax {

// More errors than this help nobody; it also bounds the work of lexing again after one.
inline constexpr unsigned maxErrors = 20;

class Parser {
public:
  Parser(Tree &tree, diag::Sink &sink);
  void parseModule();

private:
  // One level of nesting while it lives.
  class Nest {
  public:
    Nest(Parser &parser, unsigned &depth) : depth_(depth) {
      if (++depth_ > maxNesting + 1)
        parser.failNesting();
    }
    ~Nest() { --depth_; }
    Nest(const Nest &) = delete;

  private:
    unsigned &depth_;
  };

  // ---- tokens (Parser.cpp)
  bool at(TokenKind kind) const { return current_->kind == kind; }
  bool nextIs(TokenKind kind) const { return current_[1].kind == kind; }
  bool atWord(std::string_view word) const { return at(TokenKind::Identifier) && text(*current_) == word; }
  std::string_view text(const Token &token) const {
    return tree_.source->text().substr(token.begin, token.end - token.begin);
  }
  Token take();
  bool accept(TokenKind kind);
  bool expect(TokenKind kind);
  bool expectName(std::string &name, diag::Range *range = nullptr);
  diag::Range since(uint32_t begin) const { return {begin, previousEnd_ > begin ? previousEnd_ : begin}; }
  std::string describe(const Token &token) const;
  void lex();

  // ---- errors
  diag::Diagnostic &report(diag::Kind kind, diag::Range range,
                           std::initializer_list<std::string_view> arguments = {});
  // Null when already in panic, or when another error took precedence.
  diag::Diagnostic *fail(diag::Kind kind, diag::Range range,
                         std::initializer_list<std::string_view> arguments = {});
  diag::Diagnostic *failHere(diag::Kind kind, std::initializer_list<std::string_view> arguments = {});
  Expr *invalid();
  void failNesting();
  bool bracketLeftOpenBefore(uint32_t offset) const;
  diag::Range here() const;
  void recover();
  void skipLine();
  void restartAfterError();
  uint32_t lineAfter(uint32_t offset) const;
  uint32_t statementLineAfter(uint32_t offset) const;
  void stop();

  // ---- statements (ParseStatement.cpp)
  void parseStatement(Block &out);
  Stmt *parseCompound();
  void parseSimpleLine(Block &out);
  void failAfterStatement(const Token &first);
  Stmt *parseSimple();
  Stmt *parseExpressionStatement();
  Stmt *parseAssign(Expr *first, uint32_t begin);
  Stmt *parseAugAssign(Expr *target, uint32_t begin);
  Stmt *parseAnnAssign(Expr *target, uint32_t begin);
  Expr *parseAssignedValue();
  Stmt *parseReturn();
  Stmt *parseLoopExit(bool isBreak);
  Stmt *parseAssert();
  Stmt *parseImport();
  Stmt *parseImportFrom();
  bool parseImportedNames(std::vector<ImportedName> &names);
  std::string parseDottedName();
  Stmt *parseRaise();
  Stmt *parseDel();
  Stmt *parseScope(std::string_view what);
  Stmt *parseTypeAlias();
  bool atTypeAlias() const;

  // ---- compound statements (ParseCompound.cpp)
  Block parseBlock(std::string_view what, const Token &header);
  Stmt *parseIf();
  Stmt *parseFor(bool isAsync);
  Stmt *parseWhile();
  Stmt *parseWith(bool isAsync);
  bool withItemsInParentheses() const;
  bool parseWithItem(std::vector<WithItem> &items);
  Stmt *parseDecorated();
  Stmt *parseAsync(std::vector<Expr *> decorators);
  Stmt *parseFunction(bool isAsync, std::vector<Expr *> decorators);
  Stmt *parseClass(std::vector<Expr *> decorators);
  void parseTypeParameters();
  void parseParameters(std::vector<Parameter> &parameters, TokenKind close);
  bool parseParameter(std::vector<Parameter> &parameters, Parameter::Kind kind, bool isLambda);
  void checkParameterNames(const std::vector<Parameter> &parameters);
  Stmt *parseTry();
  bool parseExcept(Block &body, bool &isStar, bool &isBare);
  Expr *parseCondition(std::string_view what);

  // ---- match (ParseMatch.cpp)
  bool atMatch() const;
  Stmt *parseMatch();
  void parseCase(Block &body);
  void parsePatterns();
  void parseAsPattern();
  void parseClosedPattern();
  void parseNumberPattern();
  void parseNamePattern();
  void parseSequencePattern(TokenKind close);
  void parseMappingPattern();
  void parseClassPattern();

  // ---- expressions (ParseExpression.cpp)
  enum Level : int {
    AnyLevel,
    OrLevel,
    AndLevel,
    NotLevel,
    CompareLevel,
    BitOrLevel,
    BitXorLevel,
    BitAndLevel,
    ShiftLevel,
    SumLevel,
    TermLevel,
    UnaryLevel,
    PowerLevel
  };
  struct Infix {
    int level = -1;
    BinaryOperator op{};
  };
  static Infix infixOf(const Token *token);
  Expr *parseStarExpressions();
  Expr *parseStarExpression();
  Expr *parseStarNamedExpression();
  Expr *parseNamedExpression();
  Expr *parseExpression();
  Expr *parseDisjunction() { return parseBinary(OrLevel); }
  Expr *parseBinary(int minimum);
  Expr *parsePrefix(int minimum);
  Expr *parseBoolOp(Expr *first, bool isOr);
  Expr *parseCompare(Expr *first);
  CompareOperator takeCompareOperator();
  Expr *parsePrimary();
  Expr *parseCall(Expr *callee);
  void parseArguments(std::vector<Expr *> &arguments, std::vector<Keyword> &keywords);
  void parseArgument(std::vector<Expr *> &arguments, std::vector<Keyword> &keywords, bool &afterUnpacking);
  void checkKeywords(const std::vector<Keyword> &keywords);
  Expr *parseSubscript(Expr *object);
  Expr *parseSlice();
  Expr *parseYield();
  Expr *parseLambda();

  // ---- atoms (ParseAtom.cpp)
  Expr *parseAtom();
  Expr *parseParenthesized();
  Expr *parseList();
  Expr *parseBraces();
  void parseDictEntries(uint32_t begin, std::string &what);
  bool atComprehension() const {
    return at(TokenKind::For) || (at(TokenKind::Async) && nextIs(TokenKind::For));
  }
  bool parseGenerators(std::vector<Comprehension> &generators);
  bool parseElements(std::vector<Expr *> &elements, TokenKind close);
  bool expectClose(TokenKind close);
  Expr *failExpression();

  // ---- targets (Targets.cpp)
  enum class TargetUse : uint8_t { Assign, For, With, Delete };
  Expr *parseTargets(TargetUse use);
  bool checkTarget(Expr *target, TargetUse use, bool isNested = false);
  std::string describe(const Expr *expr) const;

  // ---- literals (ParseLiteral.cpp)
  Expr *parseNumber();
  Expr *parseStrings();
  struct StringParts;
  void parsePlainString(StringParts &joined);
  void parseFormatString(StringParts &joined);
  void parseField(StringParts &joined, bool isRaw);
  void parseSpec(FormatPart &part, bool isRaw, StringParts &joined);
  bool decode(std::string &out, uint32_t begin, uint32_t end, bool isRaw, bool isBytes, bool isFormat);
  uint32_t decodeEscape(std::string &out, uint32_t at, uint32_t end, bool isBytes);
  uint32_t decodeCode(std::string &out, uint32_t at, uint32_t end, unsigned digits, bool isBytes);

  // ---- nodes
  template <class T> T *make(uint32_t begin) { return tree_.make<T>(since(begin)); }
  Expr *unsupported(std::string_view what, uint32_t begin);
  Stmt *unsupportedStmt(std::string_view what, uint32_t begin, Block body = {});
  // Notes that `child` is under `parent`.
  void cover(Expr *parent, const Expr *child);

  Tree &tree_;
  diag::Sink &sink_;
  Lexer lexer_;
  std::vector<Token> tokens_;
  const Token *current_ = nullptr;
  uint32_t previousEnd_ = 0; // of the last token with text
  const Token *panicAt_ = nullptr;
  bool panic_ = false, stopped_ = false, bracketReported_ = false;
  unsigned errors_ = 0;
  unsigned expressionDepth_ = 0, blockDepth_ = 0, elifDepth_ = 0;
  bool inFunction_ = false, inLoop_ = false;
  bool sawNamedEscape_ = false;
};

} // namespace tegula::syntax
