// Numbers and strings: from their spelling to their value. The lexer has checked their
// shape; escapes and the fields of f-strings are looked at here.
#include "diag/Utf8.h"
#include "syntax/Parsing.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace tegula::syntax {

using diag::Kind;

// ---- numbers ----------------------------------------------------------------------------

namespace {

// The value of a number that no double can hold: zero or infinity, by the place of its first digit.
double outOfRange(std::string_view digits) {
  size_t exponentAt = std::min(digits.find_first_of("eE"), digits.size());
  size_t point = std::min(digits.find('.'), exponentAt);
  size_t first = digits.find_first_of("123456789");
  if (first == std::string_view::npos || first > exponentAt)
    return 0;
  bool negative = exponentAt + 1 < digits.size() && digits[exponentAt + 1] == '-';
  long long exponent = 0;
  for (char c : digits.substr(exponentAt))
    if (c >= '0' && c <= '9')
      exponent = std::min(exponent * 10 + (c - '0'), 1000000000ll);
  long long place = static_cast<long long>(point) - static_cast<long long>(first);
  return place + (negative ? -exponent : exponent) > 0 ? std::numeric_limits<double>::infinity() : 0;
}

// Not by strtod, which reads the host's locale.
double parseDouble(std::string_view digits) {
  double value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc::result_out_of_range ? outOfRange(digits) : value;
}

} // namespace

Expr *Parser::parseNumber() {
  Token token = take();
  std::string digits(text(token));
  std::erase(digits, '_');
  char last = static_cast<char>(digits.back() | 0x20);
  bool hasPrefix = digits.size() > 2 && digits[0] == '0' && !(digits[1] >= '0' && digits[1] <= '9');
  char prefix = hasPrefix ? static_cast<char>(digits[1] | 0x20) : '\0';
  if (prefix == 'x' || prefix == 'o' || prefix == 'b') {
    auto *node = make<IntLiteral>(token.begin);
    node->digits = digits.substr(2);
    node->base = prefix == 'x' ? 16 : prefix == 'o' ? 8 : 2;
    return node;
  }
  if (last == 'j')
    return make<ImaginaryLiteral>(token.begin);
  if (digits.find_first_of(".eE") != std::string::npos) {
    auto *node = make<FloatLiteral>(token.begin);
    node->value = parseDouble(digits);
    return node;
  }
  auto *node = make<IntLiteral>(token.begin);
  node->digits = std::move(digits);
  return node;
}

// ---- strings ----------------------------------------------------------------------------

// The parts that adjacent literals join to; `text` is what came behind the last field.
struct Parser::StringParts {
  std::string text;
  std::vector<FormatPart> parts;
  uint16_t height = 0; // of the highest field
  bool anyFormat = false, anyBytes = false, anyText = false;

  void flush() {
    if (!text.empty())
      parts.push_back({std::move(text), nullptr, 0, {}, {}});
    text.clear();
  }
};

Expr *Parser::parseStrings() {
  uint32_t begin = current_->begin;
  bool outerEscape = sawNamedEscape_;
  sawNamedEscape_ = false;
  StringParts joined;
  while (at(TokenKind::String) || at(TokenKind::FormatStart))
    at(TokenKind::String) ? parsePlainString(joined) : parseFormatString(joined);
  if (joined.anyBytes && joined.anyText)
    fail(Kind::MixedStrings, since(begin));
  bool named = sawNamedEscape_;
  sawNamedEscape_ = outerEscape;
  if (named)
    return unsupported(namedCharacters, begin);
  if (!joined.anyFormat) {
    auto *node = make<StringLiteral>(begin);
    node->value = std::move(joined.text);
    node->bytes = joined.anyBytes;
    return node;
  }
  joined.flush();
  auto *node = make<FormatString>(begin);
  node->parts = std::move(joined.parts);
  node->height = std::max<uint16_t>(node->height, joined.height);
  return node;
}

void Parser::parsePlainString(StringParts &joined) {
  Token token = take();
  std::string_view source = text(token);
  size_t quoteAt = source.find_first_of("'\"");
  std::string_view prefix = source.substr(0, quoteAt);
  bool isRaw = prefix.find_first_of("rR") != std::string_view::npos;
  bool isBytes = prefix.find_first_of("bB") != std::string_view::npos;
  char quote = source[quoteAt];
  bool triple = source.size() - quoteAt >= 6 && source[quoteAt + 1] == quote && source[quoteAt + 2] == quote;
  uint32_t quotes = triple ? 3 : 1;
  uint32_t begin = token.begin + static_cast<uint32_t>(quoteAt) + quotes, end = token.end - quotes;
  (isBytes ? joined.anyBytes : joined.anyText) = true;
  decode(joined.text, begin, end, isRaw, isBytes, false);
}

void Parser::parseFormatString(StringParts &joined) {
  Token start = take();
  bool isRaw = text(start).find_first_of("rR") != std::string_view::npos;
  joined.anyFormat = joined.anyText = true;
  while (!at(TokenKind::FormatEnd)) {
    if (at(TokenKind::FormatText)) {
      Token token = take();
      if (!decode(joined.text, token.begin, token.end, isRaw, false, true))
        return;
    } else if (at(TokenKind::LBrace)) {
      parseField(joined, isRaw);
    } else {
      failHere(Kind::ExpectedToken, {description(TokenKind::FormatEnd), describe(*current_)});
    }
    if (panic_)
      return;
  }
  take();
}

// '{' (yield_expr | star_expressions) ['='] ['!' NAME] [':' spec] '}'
void Parser::parseField(StringParts &joined, bool isRaw) {
  Nest nest(*this, expressionDepth_);
  Token open = take();
  if (at(TokenKind::RBrace) || at(TokenKind::Bang) || at(TokenKind::Colon) || at(TokenKind::Equal)) {
    failHere(Kind::FormatEmptyField, {describe(*current_)});
    return;
  }
  FormatPart part;
  part.value = at(TokenKind::Yield) ? parseYield() : parseStarExpressions();
  bool isDebug = accept(TokenKind::Equal);
  if (isDebug && !panic_) // f"{x = }" shows its own text
    joined.text += tree_.source->text().substr(open.end, current_->begin - open.end);
  joined.flush();
  joined.height = std::max(joined.height, static_cast<uint16_t>(part.value->height + 1));
  if (at(TokenKind::Bang)) {
    Token bang = take();
    std::string_view word = at(TokenKind::Identifier) ? text(*current_) : "";
    if (current_->begin != bang.end || (word != "r" && word != "s" && word != "a")) {
      failHere(Kind::FormatConversion, {describe(*current_)});
      return;
    }
    part.conversion = word[0];
    take();
  }
  bool hasSpec = at(TokenKind::Colon);
  if (hasSpec)
    parseSpec(part, isRaw, joined);
  if (!accept(TokenKind::RBrace))
    failHere(Kind::FormatExpectsBrace);
  if (isDebug && !part.conversion && !hasSpec)
    part.conversion = 'r';
  joined.parts.push_back(std::move(part));
}

// ':' text and fields, up to the closing brace.
void Parser::parseSpec(FormatPart &part, bool isRaw, StringParts &joined) {
  take();
  StringParts spec;
  while (!panic_ && (at(TokenKind::FormatText) || at(TokenKind::LBrace))) {
    if (at(TokenKind::LBrace)) {
      parseField(spec, isRaw);
      continue;
    }
    Token token = take();
    decode(spec.text, token.begin, token.end, isRaw, false, false);
  }
  joined.height = std::max(joined.height, spec.height);
  if (spec.parts.empty()) {
    part.spec = std::move(spec.text);
    return;
  }
  spec.flush();
  part.specParts = std::move(spec.parts);
}

// ---- escapes ----------------------------------------------------------------------------

// Appends what the source text [begin, end) means. In an f-string's text, doubled braces
// stand for one.
bool Parser::decode(std::string &out, uint32_t begin, uint32_t end, bool isRaw, bool isBytes, bool isFormat) {
  std::string_view source = tree_.source->text();
  for (uint32_t i = begin; i < end;) {
    char c = source[i];
    if (isBytes && static_cast<unsigned char>(c) >= 0x80) {
      fail(Kind::NonAsciiBytes, {i, i + diag::decodeUtf8(source, i).bytes});
      return false;
    }
    if (c == '\\' && !isRaw) {
      i = decodeEscape(out, i, end, isBytes);
      if (panic_)
        return false;
      continue;
    }
    if (c == '\r') { // every end of line is one \n
      out += '\n';
      i += i + 1 < end && source[i + 1] == '\n' ? 2 : 1;
      continue;
    }
    out += c;
    bool isDoubled = isFormat && (c == '{' || c == '}') && i + 1 < end && source[i + 1] == c;
    i += isDoubled ? 2 : 1;
  }
  return true;
}

// The escape at the backslash `at`; returns the offset behind it. An escape that there is
// not stands for itself.
uint32_t Parser::decodeEscape(std::string &out, uint32_t at, uint32_t end, bool isBytes) {
  std::string_view source = tree_.source->text();
  if (at + 1 >= end) { // before a field of an f-string: f"\{x}"
    out += '\\';
    return at + 1;
  }
  char c = source[at + 1];
  switch (c) {
  case '\n': return at + 2;
  case '\r': return at + (at + 2 < end && source[at + 2] == '\n' ? 3 : 2);
  case '\\':
  case '\'':
  case '"': out += c; return at + 2;
  case 'a': out += '\a'; return at + 2;
  case 'b': out += '\b'; return at + 2;
  case 'f': out += '\f'; return at + 2;
  case 'n': out += '\n'; return at + 2;
  case 'r': out += '\r'; return at + 2;
  case 't': out += '\t'; return at + 2;
  case 'v': out += '\v'; return at + 2;
  case 'x': return decodeCode(out, at, end, 2, isBytes);
  default: break;
  }
  if (c >= '0' && c <= '7') {
    uint32_t code = 0, i = at + 1;
    for (; i < end && i < at + 4 && source[i] >= '0' && source[i] <= '7'; ++i)
      code = code * 8 + static_cast<uint32_t>(source[i] - '0');
    isBytes ? void(out += static_cast<char>(code)) : diag::appendUtf8(out, code);
    return i;
  }
  if (!isBytes && (c == 'u' || c == 'U'))
    return decodeCode(out, at, end, c == 'u' ? 4 : 8, false);
  if (!isBytes && c == 'N') {
    size_t close = at + 2 < end && source[at + 2] == '{' ? source.substr(0, end).find('}', at + 3)
                                                         : std::string_view::npos;
    if (close == std::string_view::npos || close == at + 3) {
      fail(Kind::InvalidEscape, {at, at + 2}, {"\\N", "a name in braces"});
      return end;
    }
    sawNamedEscape_ = true;
    return static_cast<uint32_t>(close) + 1;
  }
  out += '\\';
  return at + 1;
}

// \x, \u and \U with their hexadecimal digits.
uint32_t Parser::decodeCode(std::string &out, uint32_t at, uint32_t end, unsigned digits, bool isBytes) {
  std::string_view source = tree_.source->text();
  uint32_t code = 0;
  uint32_t last = std::min(end, at + 2 + digits);
  auto [stop, error] = std::from_chars(source.data() + at + 2, source.data() + last, code, 16);
  bool complete = last == at + 2 + digits && stop == source.data() + last;
  if (!complete || code > 0x10FFFF) {
    std::string escape(source.substr(at, 2)), wanted = std::to_string(digits) + " hexadecimal digits";
    fail(Kind::InvalidEscape, {at, last}, {escape, complete ? "a code up to 10FFFF" : wanted});
    return end;
  }
  isBytes ? void(out += static_cast<char>(code)) : diag::appendUtf8(out, code);
  return last;
}

} // namespace tegula::syntax
