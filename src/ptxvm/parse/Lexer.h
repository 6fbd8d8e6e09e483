// PTX text -> tokens. Comments and white space vanish; the last token is End. A character that
// starts no token becomes a token of kind Bad, which no rule of the parser accepts.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace tegula::ptxvm {

struct Token {
  enum class Kind : uint8_t {
    Name,   // add  %r1  $L__BB0_1  vprintf
    Dotted, // .global  .L1::no_allocate: the text without the dot
    Number, // 12  0x1F  0b1  1.5  0f3F800000  0d...  12U
    String, // without the quotes
    Mark,   // one character
    Bad,
    End,
  };
  Kind kind = Kind::End;
  std::string_view text;
  uint32_t line = 0;

  bool is(char mark) const { return kind == Kind::Mark && text[0] == mark; }
  bool isDotted(std::string_view name) const { return kind == Kind::Dotted && text == name; }
  bool isName() const { return kind == Kind::Name; }
};

std::vector<Token> tokenize(std::string_view text);

} // namespace tegula::ptxvm
