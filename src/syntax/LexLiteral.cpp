// Numbers and strings, f-strings included: where they end. What they mean is the parser's.
#include "syntax/Characters.h"
#include "syntax/Lexer.h"
#include "syntax/Parser.h"

#include <algorithm>

namespace tegula::syntax {

using diag::Kind;

// ---- numbers ----------------------------------------------------------------------------

// Digits with single underscores between them; false where an underscore stands alone.
bool Lexer::lexDigits(uint32_t &end, unsigned base) {
  auto isDigit = [&](char c) {
    return base == 16 ? is(c, Hex) : c >= '0' && c < static_cast<char>('0' + base);
  };
  while (isDigit(at(end)) || at(end) == '_') {
    if (at(end) == '_' && !isDigit(at(end + 1)))
      return false;
    ++end;
  }
  return true;
}

void Lexer::lexNumber() {
  uint32_t begin = position_, end = begin;
  char second = static_cast<char>(at(begin + 1) | 0x20);
  if (at(begin) == '0' && second == 'x')
    return lexRadixNumber(begin, 16, "hexadecimal");
  if (at(begin) == '0' && second == 'o')
    return lexRadixNumber(begin, 8, "octal");
  if (at(begin) == '0' && second == 'b')
    return lexRadixNumber(begin, 2, "binary");
  auto invalid = [&] { fail(Kind::InvalidNumber, begin, end + 1, {"decimal"}); };
  if (!lexDigits(end, 10))
    return invalid();
  uint32_t integerEnd = end;
  bool isInteger = true;
  if (at(end) == '.') {
    isInteger = false;
    ++end;
    if (is(at(end), Digit) && !lexDigits(end, 10))
      return invalid();
  }
  if (at(end) == 'e' || at(end) == 'E') {
    uint32_t exponent = end + 1;
    bool isSigned = at(exponent) == '+' || at(exponent) == '-';
    exponent += isSigned;
    if (is(at(exponent), Digit)) {
      isInteger = false;
      end = exponent;
      if (!lexDigits(end, 10))
        return invalid();
    } else if (isSigned) {
      return invalid();
    }
  }
  std::string_view what = "decimal";
  if (at(end) == 'j' || at(end) == 'J') {
    isInteger = false;
    what = "imaginary";
    ++end;
  }
  bool leadingZero =
      isInteger && at(begin) == '0' &&
      std::any_of(data_ + begin, data_ + integerEnd, [](char c) { return c != '0' && c != '_'; });
  if (leadingZero)
    return fail(Kind::LeadingZeros, begin, integerEnd);
  if (!checkNumberEnd(begin, end, what))
    return;
  position_ = end;
  emit(TokenKind::Number, begin, end);
}

void Lexer::lexRadixNumber(uint32_t begin, unsigned base, std::string_view what) {
  uint32_t end = begin + 2;
  bool valid = at(end) == '_' ? at(end + 1) != '_' : is(at(end), Hex);
  valid = valid && lexDigits(end, base);
  if (base < 16 && is(at(end), Digit))
    return fail(Kind::InvalidDigit, end, end + 1, {{data_ + end, 1}, what});
  if (!valid || end == begin + 2)
    return fail(Kind::InvalidNumber, begin, end, {what});
  if (!checkNumberEnd(begin, end, what))
    return;
  position_ = end;
  emit(TokenKind::Number, begin, end);
}

// A keyword may touch a number (`1if x else 2`); any other word may not.
bool Lexer::checkNumberEnd(uint32_t begin, uint32_t end, std::string_view what) {
  if (!is(at(end), Letter | Digit))
    return true;
  std::string_view rest(data_ + end, std::min<uint32_t>(size_ - end, 4));
  for (std::string_view word : {"and", "else", "for", "if", "in", "is", "or", "not"})
    if (rest.starts_with(word))
      return true;
  uint32_t wordEnd = end;
  while (is(at(wordEnd), Letter | Digit))
    ++wordEnd;
  fail(Kind::InvalidNumber, begin, wordEnd, {what});
  return false;
}

// ---- strings ----------------------------------------------------------------------------

void Lexer::lexString(uint32_t begin, uint32_t quoteAt) {
  char quote = at(quoteAt);
  bool triple = at(quoteAt + 1) == quote && at(quoteAt + 2) == quote;
  bool format = false, raw = false;
  for (uint32_t i = begin; i < quoteAt; ++i) {
    format |= (at(i) | 0x20) == 'f';
    raw |= (at(i) | 0x20) == 'r';
  }
  uint32_t end = quoteAt + (triple ? 3 : 1);
  if (format) {
    if (formats_.size() >= maxNesting)
      return fail(Kind::NestingTooDeep, begin, end, {std::to_string(maxNesting)});
    formats_.push_back({quote, triple, raw, FormatState::Text, begin, brackets_.size()});
    position_ = end;
    return emit(TokenKind::FormatStart, begin, end);
  }
  for (;; ++end) {
    char c = at(end);
    if (end >= size_ || (!triple && isNewline(c)))
      return unterminatedString(begin, quoteAt, triple, end);
    if (c == '\\') {
      end = isNewline(at(end + 1)) ? afterNewline(end + 1) - 1 : end + 1;
    } else if (c == quote && (!triple || (at(end + 1) == quote && at(end + 2) == quote))) {
      position_ = end + (triple ? 3 : 1);
      return emit(TokenKind::String, begin, position_);
    }
  }
}

void Lexer::unterminatedString(uint32_t begin, uint32_t quoteAt, bool triple, uint32_t end) {
  end = std::min(end, size_);
  // The quote that would end the f-string around this one: it is the field that is open.
  if (inField() && begin == quoteAt && formats_.back().quote == at(quoteAt) &&
      formats_.back().triple == triple)
    return fail(Kind::FormatExpectsBrace, begin, begin + 1);
  if (triple)
    fail(Kind::UnterminatedTripleString, begin, quoteAt + 3, {{data_ + quoteAt, 3}, line(end)});
  else
    fail(Kind::UnterminatedString, begin, end, {{data_ + quoteAt, 1}});
}

void Lexer::lexFormatText() {
  Format &format = formats_.back();
  bool isSpec = format.state == FormatState::Spec;
  uint32_t begin = position_, end = position_;
  auto emitText = [&] {
    if (end > begin)
      emit(TokenKind::FormatText, begin, end);
    position_ = end;
  };
  for (;; ++end) {
    char c = at(end);
    if (end >= size_ || (!format.triple && isNewline(c)))
      break;
    if (c == format.quote && (!format.triple || (at(end + 1) == c && at(end + 2) == c))) {
      if (isSpec)
        return fail(Kind::FormatExpectsBrace, end, end + 1);
      emitText();
      position_ = end + (format.triple ? 3 : 1);
      formats_.pop_back();
      return emit(TokenKind::FormatEnd, end, position_);
    }
    if ((c == '{' || c == '}') && !isSpec && at(end + 1) == c) {
      ++end;
    } else if (c == '{') {
      emitText();
      return openField(end);
    } else if (c == '}') {
      if (!isSpec)
        return fail(Kind::FormatSingleBrace, end, end + 1);
      emitText();
      return close('}');
    } else if (c == '\\') {
      char next = at(end + 1);
      if (!format.raw && next == 'N' && at(end + 2) == '{') {
        while (end + 1 < size_ && at(end) != '}' && at(end + 1) != format.quote && !isNewline(at(end + 1)))
          ++end;
      } else if (next != '{' && next != '}') {
        end = isNewline(next) ? afterNewline(end + 1) - 1 : end + 1;
      }
    }
  }
  end = std::min(end, size_);
  uint32_t quotes = format.triple ? 3 : 1, from = format.begin;
  uint32_t quoteAt = from;
  while (at(quoteAt) != format.quote)
    ++quoteAt;
  if (format.triple)
    fail(Kind::UnterminatedTripleString, from, quoteAt + quotes, {{data_ + quoteAt, quotes}, line(end)});
  else
    fail(Kind::UnterminatedString, from, end, {{data_ + quoteAt, quotes}});
}

void Lexer::openField(uint32_t offset) {
  if (brackets_.size() >= maxNesting)
    return fail(Kind::NestingTooDeep, offset, offset + 1, {std::to_string(maxNesting)});
  brackets_.push_back({'{', true, formats_.back().state, offset});
  formats_.back().state = FormatState::Field;
  position_ = offset + 1;
  emit(TokenKind::LBrace, offset, position_);
}

} // namespace tegula::syntax
