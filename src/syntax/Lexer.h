// text -> tokens, as CPython's tokenizer makes them: Newline, Indent and Dedent included,
// f-strings as a sequence of tokens (PEP 701). Assumes valid UTF-8 without NUL bytes of at
// most 4 GiB (parse checks). Stops at the first thing that is no token with an Error token;
// whoever reads the tokens may restart it at a later line.
#pragma once
#include "diag/Diagnostic.h"

#include <optional>
#include <vector>

namespace tegula::syntax {

enum class TokenKind : uint8_t {
#define TOKEN(Name, description) Name,
#define KEYWORD(Name, text) Name,
#define OPERATOR(Name, text) Name,
#include "syntax/Tokens.def"
#undef TOKEN
#undef KEYWORD
#undef OPERATOR
};

// The kind's name in messages: "`:`", "a name".
std::string description(TokenKind kind);
bool isKeyword(TokenKind kind);
// Keywords that only start a statement: inside brackets they prove that one was never closed.
bool startsStatement(TokenKind kind);

struct Token {
  TokenKind kind = TokenKind::EndOfFile;
  bool startsLine = false; // the first of its physical line
  uint32_t begin = 0, end = 0;
};

class Lexer {
public:
  explicit Lexer(diag::SourcePtr source);

  // Appends tokens up to the end of the file, or up to the first error. The last token is
  // EndOfFile, with an Error before it if there is one.
  void run(std::vector<Token> &tokens);
  // Goes on at `offset`, the start of a line, with no bracket open; run comes next.
  void restartAt(uint32_t offset);

  // Why there is an Error token; empty after a run without one.
  const std::optional<diag::Diagnostic> &error() const { return error_; }
  // The bracket that the error says was never closed; only for UnclosedBracket.
  uint32_t unclosedBracket() const { return brackets_.empty() ? 0 : brackets_.back().offset; }
  bool hasOpenBracket() const { return !brackets_.empty(); }
  // The column of the block that is open at the error.
  unsigned indentation() const { return indents_.back().column; }

private:
  // Column with tabs to multiples of 8, and with tabs as one: where the two compare
  // differently, the text depends on the width of a tab.
  struct Indentation {
    unsigned column, alternative;
    bool operator==(const Indentation &) const = default;
  };
  enum class FormatState : uint8_t { Text, Spec, Field };
  struct Bracket {
    char open;
    bool isField;        // the `{` of an f-string's field
    FormatState outside; // of the f-string, when it is a field
    uint32_t offset;
  };
  struct Format {
    char quote;
    bool triple, raw;
    FormatState state;
    uint32_t begin;
    size_t brackets; // open ones outside of it
  };

  char at(uint32_t offset) const { return offset < size_ ? data_[offset] : '\0'; }
  uint32_t afterNewline(uint32_t offset) const;
  bool inField() const;

  void lexLineStart();
  Indentation measureIndentation();
  void setIndentation(Indentation indentation, uint32_t lineBegin);
  void lexToken();
  void lexNewline();
  void skipBlanks();
  void continueLine();
  void lexName();
  void lexNumber();
  bool lexDigits(uint32_t &end, unsigned base);
  void lexRadixNumber(uint32_t begin, unsigned base, std::string_view what);
  bool checkNumberEnd(uint32_t begin, uint32_t end, std::string_view what);
  void lexString(uint32_t begin, uint32_t quoteAt);
  void unterminatedString(uint32_t begin, uint32_t quoteAt, bool triple, uint32_t end);
  void lexFormatText();
  void openField(uint32_t offset);
  void lexOperator();
  void open(char bracket);
  void close(char bracket);
  void invalidCharacter();
  void finish();

  void emit(TokenKind kind, uint32_t begin, uint32_t end);
  void fail(diag::Kind kind, uint32_t begin, uint32_t end,
            std::initializer_list<std::string_view> arguments = {});
  std::string line(uint32_t offset) const { return std::to_string(source_->position(offset).line); }

  diag::SourcePtr source_;
  const char *data_;
  uint32_t size_, position_ = 0;
  bool atLineStart_ = true, startsLine_ = true, done_ = false;
  std::vector<Indentation> indents_{{0, 0}};
  std::vector<Bracket> brackets_;
  std::vector<Format> formats_;
  std::optional<diag::Diagnostic> error_;
  std::vector<Token> *tokens_ = nullptr;
};

// True if a name may start with, or hold, the character `code` (beyond ASCII).
bool isNameStart(uint32_t code);
bool isNameContinue(uint32_t code);

} // namespace tegula::syntax
