// Answers what the lexer asks about a single byte.
#pragma once
#include <array>
#include <cstdint>

namespace tegula::syntax {

// The kinds of text that a byte may be part of, so that the lexer looks once.
enum : uint8_t { Digit = 1, Letter = 2, Blank = 4, NewlineByte = 8, Hex = 16 };

constexpr std::array<uint8_t, 256> makeClasses() {
  std::array<uint8_t, 256> classes{};
  for (int c = '0'; c <= '9'; ++c)
    classes[c] = Digit | Hex;
  for (int c = 'a'; c <= 'z'; ++c)
    classes[c] = classes[c - 'a' + 'A'] = static_cast<uint8_t>(Letter | (c <= 'f' ? Hex : 0));
  for (int c = 0x80; c < 0x100; ++c)
    classes[c] = Letter; // looked at more closely in lexName
  classes['_'] = Letter;
  classes[' '] = classes['\t'] = classes['\f'] = Blank;
  classes['\n'] = classes['\r'] = NewlineByte;
  return classes;
}
inline constexpr std::array<uint8_t, 256> classes = makeClasses();

inline bool is(char c, uint8_t mask) { return classes[static_cast<unsigned char>(c)] & mask; }
inline bool isNewline(char c) { return c == '\n' || c == '\r'; }

} // namespace tegula::syntax
