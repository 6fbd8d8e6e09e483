#include "diag/Utf8.h"

#include <cstring>

namespace tegula::diag {

Utf8Character decodeUtf8(std::string_view text, size_t offset) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned char lead = byte(offset);
  if (lead < 0x80)
    return {lead, 1, true};
  unsigned length = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  if (length == 0 || text.size() - offset < length)
    return {};
  uint32_t code = lead & (0x7Fu >> length);
  for (unsigned i = 1; i < length; ++i) {
    if ((byte(offset + i) & 0xC0) != 0x80)
      return {};
    code = code << 6 | (byte(offset + i) & 0x3F);
  }
  bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  if (overlong || (code >= 0xD800 && code < 0xE000) || code > 0x10FFFF)
    return {};
  return {code, length, true};
}

size_t findInvalidUtf8(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    // Eight ASCII bytes at a time: nearly all of a file is.
    uint64_t word;
    if (text.size() - i >= sizeof word) {
      std::memcpy(&word, text.data() + i, sizeof word);
      if ((word & 0x8080808080808080u) == 0) {
        i += sizeof word;
        continue;
      }
    }
    Utf8Character character = decodeUtf8(text, i);
    if (!character.valid)
      return i;
    i += character.bytes;
  }
  return std::string_view::npos;
}

void appendUtf8(std::string &text, uint32_t code) {
  auto put = [&](uint32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6);
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3F));
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

std::vector<std::string_view> splitUtf8(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  std::vector<std::string_view> characters;
  for (size_t i = 0; i != text.size(); i += characters.back().size()) {
    bool isSurrogate = text.size() - i >= 3 && byte(i) == 0xED && (byte(i + 1) & 0xE0) == 0xA0 &&
                       (byte(i + 2) & 0xC0) == 0x80;
    characters.push_back(text.substr(i, isSurrogate ? 3 : decodeUtf8(text, i).bytes));
  }
  return characters;
}

} // namespace tegula::diag
