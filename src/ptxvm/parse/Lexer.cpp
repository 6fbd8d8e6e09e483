// See Lexer.h. PTX ISA manual, "Syntax": identifiers, constants, comments.
#include "ptxvm/parse/Lexer.h"

namespace tegula::ptxvm {
namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool isNameStart(char c) { return isLetter(c) || c == '_' || c == '$' || c == '%'; }
bool isNameRest(char c) { return isLetter(c) || isDigit(c) || c == '_' || c == '$'; }

class Lexer {
public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::vector<Token> all() {
    std::vector<Token> tokens;
    while (skipSpace())
      tokens.push_back(next());
    tokens.push_back({Token::Kind::End, "", line_});
    return tokens;
  }

private:
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  // False at the end of the text.
  bool skipSpace() {
    while (at_ < text_.size()) {
      char c = text_[at_];
      if (c == '\n')
        ++line_;
      if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        ++at_;
      } else if (c == '/' && peek(1) == '/') {
        while (at_ < text_.size() && text_[at_] != '\n')
          ++at_;
      } else if (c == '/' && peek(1) == '*') {
        size_t end = text_.find("*/", at_ + 2);
        end = end == text_.npos ? text_.size() : end + 2;
        for (; at_ < end; ++at_)
          line_ += text_[at_] == '\n';
      } else {
        return true;
      }
    }
    return false;
  }

  Token token(Token::Kind kind, size_t start) { return {kind, text_.substr(start, at_ - start), line_}; }

  Token next() {
    size_t start = at_;
    char c = text_[at_];
    bool isBehindName = at_ && isNameRest(text_[at_ - 1]); // .1d is a part of a mnemonic, .5 is a number
    if (c == '.' && isDigit(peek(1)) && !isBehindName)
      return number(start);
    if (c == '.' && (isNameRest(peek(1)))) {
      ++at_;
      while (isNameRest(peek()) || (peek() == ':' && peek(1) == ':' && isNameRest(peek(2)))) {
        at_ += peek() == ':' ? 2 : 1;
      }
      return token(Token::Kind::Dotted, start + 1);
    }
    if (isNameStart(c)) {
      ++at_;
      while (isNameRest(peek()))
        ++at_;
      return token(Token::Kind::Name, start);
    }
    if (isDigit(c))
      return number(start);
    if (c == '"')
      return string(start);
    ++at_;
    bool isMark = std::string_view("{}()[]<>,;:@!|+-=*&~/").find(c) != std::string_view::npos;
    return token(isMark ? Token::Kind::Mark : Token::Kind::Bad, start);
  }

  // A decimal float may end with its point: `15.`.
  Token number(size_t start) {
    while (isLetter(peek()) || isDigit(peek()) || (peek() == '.' && !isLetter(peek(1))) ||
           ((peek() == '+' || peek() == '-') && isExponent(start)))
      ++at_;
    return token(Token::Kind::Number, start);
  }
  // Is the character before the e of a decimal float such as 1.5e-3?
  bool isExponent(size_t start) const {
    std::string_view so = text_.substr(start, at_ - start);
    return so.size() > 1 && (so.back() == 'e' || so.back() == 'E') &&
           so.find_first_not_of("0123456789.") == so.size() - 1 && isDigit(peek(1));
  }

  Token string(size_t start) {
    ++at_;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n')
      at_ += text_[at_] == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] != '\n' ? 2 : 1;
    if (peek() != '"')
      return token(Token::Kind::Bad, start);
    Token result{Token::Kind::String, text_.substr(start + 1, at_ - start - 1), line_};
    ++at_;
    return result;
  }

  std::string_view text_;
  size_t at_ = 0;
  uint32_t line_ = 1;
};

} // namespace

std::vector<Token> tokenize(std::string_view text) { return Lexer(text).all(); }

} // namespace tegula::ptxvm
