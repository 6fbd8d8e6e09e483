#include "syntax/Lexer.h"
#include "diag/Utf8.h"
#include "syntax/Characters.h"
#include "syntax/Parser.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

namespace tegula::syntax {
namespace {

using diag::Kind;

struct TokenRow {
  std::string_view text;
  bool isKeyword, isDescription;
};

constexpr TokenRow tokenRows[] = {
#define TOKEN(Name, description) {description, false, true},
#define KEYWORD(Name, text) {text, true, false},
#define OPERATOR(Name, text) {text, false, false},
#include "syntax/Tokens.def"
#undef TOKEN
#undef KEYWORD
#undef OPERATOR
};

// The range of the keywords with a given first letter in the table, which is ordered.
struct KeywordIndex {
  uint8_t begin[128] = {}, end[128] = {};
  constexpr KeywordIndex() {
    for (uint8_t i = 0; i < std::size(tokenRows); ++i) {
      if (!tokenRows[i].isKeyword)
        continue;
      unsigned first = static_cast<unsigned char>(tokenRows[i].text[0]);
      if (end[first] == 0)
        begin[first] = i;
      end[first] = static_cast<uint8_t>(i + 1);
    }
  }
};
constexpr KeywordIndex keywordIndex;

TokenKind wordKind(std::string_view text) {
  unsigned char first = static_cast<unsigned char>(text[0]);
  if (text.size() > 8 || first >= 128)
    return TokenKind::Identifier;
  for (uint8_t i = keywordIndex.begin[first]; i < keywordIndex.end[first]; ++i)
    if (tokenRows[i].text == text)
      return static_cast<TokenKind>(i);
  return TokenKind::Identifier;
}

bool isStringPrefix(std::string_view text) {
  auto lower = [](char c) { return static_cast<char>(c | 0x20); };
  char first = lower(text[0]);
  if (text.size() == 1)
    return first == 'r' || first == 'b' || first == 'u' || first == 'f';
  if (text.size() != 2)
    return false;
  char second = lower(text[1]);
  return (first == 'r' && (second == 'b' || second == 'f')) ||
         (second == 'r' && (first == 'b' || first == 'f'));
}

struct CharacterRange {
  uint32_t first, last;
};
constexpr CharacterRange nameStarts[] = {
#define NAME_START(first, last) {first, last},
#include "syntax/NameCharacters.def"
};
constexpr CharacterRange nameContinues[] = {
#define NAME_CONTINUE(first, last) {first, last},
#include "syntax/NameCharacters.def"
};

template <size_t N> bool contains(const CharacterRange (&ranges)[N], uint32_t code) {
  auto range = std::lower_bound(std::begin(ranges), std::end(ranges), code,
                                [](const CharacterRange &r, uint32_t c) { return r.last < c; });
  return range != std::end(ranges) && range->first <= code;
}

char closingOf(char open) { return open == '(' ? ')' : open == '[' ? ']' : '}'; }

} // namespace

bool isNameStart(uint32_t code) { return contains(nameStarts, code); }
bool isNameContinue(uint32_t code) { return isNameStart(code) || contains(nameContinues, code); }

bool startsStatement(TokenKind kind) {
  switch (kind) {
  case TokenKind::Assert:
  case TokenKind::Break:
  case TokenKind::Class:
  case TokenKind::Continue:
  case TokenKind::Def:
  case TokenKind::Del:
  case TokenKind::Elif:
  case TokenKind::Except:
  case TokenKind::Finally:
  case TokenKind::Global:
  case TokenKind::Import:
  case TokenKind::Nonlocal:
  case TokenKind::Pass:
  case TokenKind::Raise:
  case TokenKind::Return:
  case TokenKind::Try:
  case TokenKind::While:
  case TokenKind::With: return true;
  default: return false;
  }
}

bool isKeyword(TokenKind kind) { return tokenRows[static_cast<size_t>(kind)].isKeyword; }

std::string description(TokenKind kind) {
  const TokenRow &row = tokenRows[static_cast<size_t>(kind)];
  return row.isDescription ? std::string(row.text) : "`" + std::string(row.text) + "`";
}

Lexer::Lexer(diag::SourcePtr source)
    : source_(std::move(source)), data_(source_->text().data()),
      size_(static_cast<uint32_t>(source_->text().size())) {
  if (source_->text().starts_with("\xEF\xBB\xBF"))
    position_ = 3;
}

void Lexer::run(std::vector<Token> &tokens) {
  tokens_ = &tokens;
  while (!done_) {
    if (position_ >= size_)
      finish();
    else if (atLineStart_)
      lexLineStart();
    else
      lexToken();
  }
  emit(TokenKind::EndOfFile, position_, position_);
}

void Lexer::restartAt(uint32_t offset) {
  position_ = std::min(offset, size_);
  brackets_.clear();
  formats_.clear();
  error_.reset();
  atLineStart_ = true;
  done_ = false;
}

void Lexer::emit(TokenKind kind, uint32_t begin, uint32_t end) {
  tokens_->push_back({kind, startsLine_, begin, end});
  startsLine_ = false;
}

void Lexer::fail(Kind kind, uint32_t begin, uint32_t end, std::initializer_list<std::string_view> arguments) {
  error_ = diag::make(kind, {source_, {begin, end}}, arguments);
  emit(TokenKind::Error, std::min(position_, begin), std::max(begin, end));
  done_ = true;
}

void Lexer::finish() {
  if (!brackets_.empty()) {
    uint32_t bracket = brackets_.back().offset;
    error_ =
        diag::make(Kind::UnclosedBracket, {source_, {bracket, bracket + 1}}, {{&brackets_.back().open, 1}});
    emit(TokenKind::Error, size_, size_);
    done_ = true;
    return;
  }
  if (!atLineStart_)
    emit(TokenKind::Newline, size_, size_);
  for (; indents_.size() > 1; indents_.pop_back())
    emit(TokenKind::Dedent, size_, size_);
  done_ = true;
}

// ---- lines ------------------------------------------------------------------------------

uint32_t Lexer::afterNewline(uint32_t offset) const {
  return offset + (at(offset) == '\r' && at(offset + 1) == '\n' ? 2 : 1);
}

void Lexer::lexLineStart() {
  uint32_t begin = position_;
  Indentation indentation = measureIndentation();
  if (done_)
    return;
  if (at(position_) == '#')
    skipBlanks();
  if (position_ >= size_)
    return;
  if (isNewline(at(position_))) {
    position_ = afterNewline(position_);
    return;
  }
  atLineStart_ = false;
  startsLine_ = true;
  setIndentation(indentation, begin);
}

Lexer::Indentation Lexer::measureIndentation() {
  Indentation result{0, 0};
  std::optional<Indentation> continued; // a line that a backslash splits is indented as its first part
  for (;; ++position_) {
    switch (at(position_)) {
    case ' ': ++result.column, ++result.alternative; break;
    case '\t':
      result.column = (result.column / 8 + 1) * 8;
      ++result.alternative;
      break;
    case '\f': result = {0, 0}; break;
    case '\\':
      if (!continued || continued->column == 0)
        continued = result;
      continueLine();
      if (done_)
        return result;
      --position_;
      break;
    default: return continued && continued->column ? *continued : result;
    }
  }
}

// Every path leaves the stack as if the line were right, so that a restart goes on.
void Lexer::setIndentation(Indentation indentation, uint32_t lineBegin) {
  uint32_t begin = position_;
  if (indentation == indents_.back())
    return;
  if (indentation.column > indents_.back().column) {
    bool consistent = indentation.alternative > indents_.back().alternative;
    if (indents_.size() > maxNesting)
      return fail(Kind::NestingTooDeep, begin, begin + 1, {std::to_string(maxNesting)});
    indents_.push_back(indentation);
    emit(TokenKind::Indent, lineBegin, begin);
    startsLine_ = true;
    if (!consistent)
      fail(Kind::InconsistentTabs, lineBegin, begin);
    return;
  }
  bool fits = true;
  while (indents_.back().column > indentation.column) {
    fits = indents_[indents_.size() - 2].column >= indentation.column;
    if (!fits)
      break;
    indents_.pop_back();
    emit(TokenKind::Dedent, begin, begin);
    startsLine_ = true;
  }
  bool consistent = fits && indents_.back().alternative == indentation.alternative;
  indents_.back() = indentation;
  if (!fits)
    fail(Kind::UnindentMismatch, lineBegin, begin);
  else if (!consistent)
    fail(Kind::InconsistentTabs, lineBegin, begin);
}

void Lexer::lexNewline() {
  uint32_t begin = position_;
  position_ = afterNewline(position_);
  if (brackets_.empty()) {
    emit(TokenKind::Newline, begin, position_);
    atLineStart_ = true;
  } else {
    startsLine_ = true;
  }
}

void Lexer::skipBlanks() {
  while (is(at(position_), Blank))
    ++position_;
  if (at(position_) == '#')
    while (position_ < size_ && !isNewline(at(position_)))
      ++position_;
}

void Lexer::continueLine() {
  if (!isNewline(at(position_ + 1))) {
    if (position_ + 1 >= size_)
      return fail(Kind::UnexpectedEnd, position_, position_ + 1, {"`\\`"});
    return fail(Kind::StrayBackslash, position_ + 1, position_ + 2);
  }
  uint32_t begin = position_;
  position_ = afterNewline(position_ + 1);
  if (position_ >= size_)
    fail(Kind::UnexpectedEnd, begin, begin + 1, {"`\\`"});
}

// ---- tokens -----------------------------------------------------------------------------

bool Lexer::inField() const {
  return !formats_.empty() && formats_.back().state == FormatState::Field && brackets_.back().isField;
}

void Lexer::lexToken() {
  if (!formats_.empty() && formats_.back().state != FormatState::Field)
    return lexFormatText();
  skipBlanks();
  if (position_ >= size_)
    return;
  char c = at(position_);
  if (is(c, Letter))
    lexName();
  else if (is(c, Digit) || (c == '.' && is(at(position_ + 1), Digit)))
    lexNumber();
  else if (c == '"' || c == '\'')
    lexString(position_, position_);
  else if (isNewline(c))
    lexNewline();
  else if (c == '\\')
    continueLine();
  else
    lexOperator();
}

void Lexer::lexName() {
  uint32_t begin = position_, end = position_;
  while (is(at(end), Letter | Digit)) {
    if (static_cast<unsigned char>(at(end)) < 0x80) {
      ++end;
      continue;
    }
    diag::Utf8Character c = diag::decodeUtf8(source_->text(), end);
    if (!(end == begin ? isNameStart(c.code) : isNameContinue(c.code))) {
      position_ = end;
      return invalidCharacter();
    }
    end += c.bytes;
  }
  std::string_view text(data_ + begin, end - begin);
  if ((at(end) == '"' || at(end) == '\'') && isStringPrefix(text))
    return lexString(begin, end);
  TokenKind kind = wordKind(text);
  if (startsLine_ && !brackets_.empty() && startsStatement(kind) && at(end) != '=') {
    const Bracket &bracket = brackets_.back();
    error_ = diag::make(Kind::UnclosedBracket, {source_, {bracket.offset, bracket.offset + 1}},
                        {{&bracket.open, 1}});
    emit(TokenKind::Error, begin, begin);
    done_ = true;
    return;
  }
  position_ = end;
  emit(kind, begin, end);
}

// ---- operators --------------------------------------------------------------------------

void Lexer::open(char bracket) {
  if (brackets_.size() >= maxNesting)
    return fail(Kind::NestingTooDeep, position_, position_ + 1, {std::to_string(maxNesting)});
  brackets_.push_back({bracket, false, FormatState::Text, position_});
  ++position_;
  emit(bracket == '('   ? TokenKind::LParen
       : bracket == '[' ? TokenKind::LBracket
                        : TokenKind::LBrace,
       position_ - 1, position_);
}

void Lexer::close(char bracket) {
  uint32_t begin = position_;
  if (brackets_.empty() || brackets_.size() <= (formats_.empty() ? 0 : formats_.back().brackets))
    return fail(Kind::UnmatchedBracket, begin, begin + 1, {{&bracket, 1}});
  Bracket opened = brackets_.back();
  if (closingOf(opened.open) != bracket) {
    fail(Kind::MismatchedBracket, begin, begin + 1, {{&bracket, 1}, {&opened.open, 1}});
    error_->notes.push_back({{source_, {opened.offset, opened.offset + 1}}, "the bracket was opened here"});
    return;
  }
  brackets_.pop_back();
  if (opened.isField)
    formats_.back().state = opened.outside;
  ++position_;
  emit(bracket == ')'   ? TokenKind::RParen
       : bracket == ']' ? TokenKind::RBracket
                        : TokenKind::RBrace,
       begin, position_);
}

void Lexer::lexOperator() {
  uint32_t begin = position_;
  char c = at(begin), next = at(begin + 1), third = at(begin + 2);
  auto token = [&](TokenKind kind, unsigned length) {
    position_ = begin + length;
    emit(kind, begin, position_);
  };
  // The operator alone, or with `=` behind it.
  auto orEqual = [&](TokenKind plain, TokenKind withEqual) {
    next == '=' ? token(withEqual, 2) : token(plain, 1);
  };
  auto doubled = [&](TokenKind plain, TokenKind withEqual) {
    third == '=' ? token(withEqual, 3) : token(plain, 2);
  };
  using K = TokenKind;
  switch (c) {
  case '(':
  case '[':
  case '{': return open(c);
  case ')':
  case ']':
  case '}': return close(c);
  case ',': return token(K::Comma, 1);
  case ';': return token(K::Semicolon, 1);
  case '~': return token(K::Tilde, 1);
  case '.': return next == '.' && third == '.' ? token(K::Ellipsis, 3) : token(K::Dot, 1);
  case ':':
    if (inField()) {
      formats_.back().state = FormatState::Spec;
      return token(K::Colon, 1);
    }
    return orEqual(K::Colon, K::ColonEqual);
  case '=': return orEqual(K::Equal, K::EqualEqual);
  case '+': return orEqual(K::Plus, K::PlusEqual);
  case '-': return next == '>' ? token(K::Arrow, 2) : orEqual(K::Minus, K::MinusEqual);
  case '*': return next == '*' ? doubled(K::DoubleStar, K::DoubleStarEqual) : orEqual(K::Star, K::StarEqual);
  case '/':
    return next == '/' ? doubled(K::DoubleSlash, K::DoubleSlashEqual) : orEqual(K::Slash, K::SlashEqual);
  case '<':
    if (next == '>')
      return fail(Kind::InvalidOperator, begin, begin + 2, {"<>", "write `!=`"});
    return next == '<' ? doubled(K::LShift, K::LShiftEqual) : orEqual(K::Less, K::LessEqual);
  case '>': return next == '>' ? doubled(K::RShift, K::RShiftEqual) : orEqual(K::Greater, K::GreaterEqual);
  case '%': return orEqual(K::Percent, K::PercentEqual);
  case '@': return orEqual(K::At, K::AtEqual);
  case '&': return orEqual(K::Amp, K::AmpEqual);
  case '|': return orEqual(K::Bar, K::BarEqual);
  case '^': return orEqual(K::Caret, K::CaretEqual);
  case '!':
    if (next == '=')
      return token(K::NotEqual, 2);
    if (inField())
      return token(K::Bang, 1);
    return fail(Kind::InvalidOperator, begin, begin + 1, {"!", "write `not`"});
  case '$':
  case '?':
  case '`': return fail(Kind::InvalidOperator, begin, begin + 1, {{&c, 1}, ""});
  default: return invalidCharacter();
  }
}

void Lexer::invalidCharacter() {
  diag::Utf8Character c = diag::decodeUtf8(source_->text(), position_);
  char number[16];
  std::snprintf(number, sizeof number, "U+%04X", c.code);
  bool printable = c.code > 0x20 && c.code != 0x7F && !(c.code >= 0x80 && c.code <= 0xA0) &&
                   c.code != 0xFEFF && !(c.code >= 0x2000 && c.code <= 0x200F) &&
                   !(c.code >= 0x2028 && c.code <= 0x202F);
  std::string shown = number;
  if (printable)
    shown = "`" + std::string(data_ + position_, c.bytes) + "` (" + number + ")";
  fail(Kind::InvalidCharacter, position_, position_ + c.bytes, {shown});
  switch (c.code) {
  case 0x2018:
  case 0x2019:
  case 0x201C:
  case 0x201D: error_->hint = "write a straight quote, `'` or `\"`"; break;
  case 0x2013:
  case 0x2014:
  case 0x2212: error_->hint = "write `-`"; break;
  case 0xD7: error_->hint = "write `*`"; break;
  case 0xF7: error_->hint = "write `/`"; break;
  case 0x2260: error_->hint = "write `!=`"; break;
  case 0x2264: error_->hint = "write `<=`"; break;
  case 0x2265: error_->hint = "write `>=`"; break;
  case 0xFF08: error_->hint = "write `(`"; break;
  case 0xFF09: error_->hint = "write `)`"; break;
  case 0xFF0C: error_->hint = "write `,`"; break;
  case 0xFF1A: error_->hint = "write `:`"; break;
  case 0xA0:
  case 0x3000: error_->hint = "write an ordinary space"; break;
  default: break;
  }
}

} // namespace tegula::syntax
