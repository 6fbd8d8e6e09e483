// Reads and changes PTX as LLVM writes it, one instruction a line.
#pragma once
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace tegula::nvidia {

// Calls `body` with each line, without the spaces around it.
inline void eachLine(llvm::StringRef text, llvm::function_ref<void(llvm::StringRef)> body) {
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    body(line.trim());
    text = rest;
  }
}

// The text, each line of which is what `other` makes of it without the spaces around it; where that is "",
// the line stays.
inline std::string replaceLines(llvm::StringRef text,
                                llvm::function_ref<std::string(llvm::StringRef)> other) {
  std::string result;
  result.reserve(text.size() + text.size() / 16);
  while (!text.empty()) {
    size_t length = std::min(text.find('\n'), text.size());
    llvm::StringRef line = text.take_front(length);
    std::string made = other(line.trim());
    result += made.empty() ? line.str() : "\t" + made;
    if (length != text.size())
      result += '\n';
    text = text.drop_front(std::min(length + 1, text.size()));
  }
  return result;
}

} // namespace tegula::nvidia
