// UTF-8, one character at a time. Decoding is strict (no overlong forms, no surrogates);
// encoding writes what it is given, because a Python string may hold lone surrogates.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tegula::diag {

struct Utf8Character {
  uint32_t code = 0;
  unsigned bytes = 1; // 1 where the bytes are no character
  bool valid = false;
};

// The character at byte `offset`, which is inside of `text`.
Utf8Character decodeUtf8(std::string_view text, size_t offset);
// The offset of the first byte that is not part of a character; npos if there is none.
size_t findInvalidUtf8(std::string_view text);
void appendUtf8(std::string &text, uint32_t code);
// The characters of a text, lone surrogates among them; bytes that are no character are one each.
std::vector<std::string_view> splitUtf8(std::string_view text);

} // namespace tegula::diag
