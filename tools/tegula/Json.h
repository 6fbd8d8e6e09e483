// A text as JSON writes it.
#pragma once
#include <cstdio>
#include <string>

namespace tegula::cli {

inline std::string json(const std::string &text) {
  std::string out;
  for (unsigned char c : text) {
    char code[8];
    if (c == '"' || c == '\\')
      out += {'\\', char(c)};
    else if (c == '\n')
      out += "\\n";
    else if (c < 0x20) {
      std::snprintf(code, sizeof code, "\\u%04x", c);
      out += code;
    } else
      out += char(c);
  }
  return '"' + out + '"';
}

} // namespace tegula::cli
