// Products of several warps in PTX as LLVM writes it, one instruction a line, and the registers of lines.
#pragma once
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace tegula::nvidia {

using Names = llvm::SmallVector<llvm::StringRef, 4>;

// Calls `body` with each register of the text and where it begins.
template <typename Body> void eachRegister(llvm::StringRef text, Body body) {
  auto isOfName = [](char c) { return llvm::isAlnum(c) || c == '_' || c == '$' || c == '.'; };
  for (size_t at = text.find('%'); at != llvm::StringRef::npos;) {
    size_t end = at + 1;
    while (end < text.size() && isOfName(text[end]))
      ++end;
    body(text.slice(at, end), at);
    at = text.find('%', end);
  }
}

inline Names registersOf(llvm::StringRef text) {
  Names names;
  eachRegister(text, [&](llvm::StringRef name, size_t) { names.push_back(name); });
  return names;
}

inline void renameRegister(std::string &text, llvm::StringRef from, llvm::StringRef to) {
  std::string made;
  size_t copied = 0;
  eachRegister(text, [&](llvm::StringRef name, size_t at) {
    if (name != from)
      return;
    made.append(text, copied, at - copied).append(to.begin(), to.end());
    copied = at + name.size();
  });
  text = made.append(text, copied, text.size() - copied);
}

inline bool isProduct(llvm::StringRef code) { return code.starts_with("wgmma.mma_async"); }
// Behind it writes to registers are seen by the products that follow.
inline bool isFence(llvm::StringRef code) { return code.starts_with("wgmma.fence"); }

// The sums of a product, which come first, and the registers of its rows, if it takes them from there.
inline Names sumsOf(llvm::StringRef product) {
  return registersOf(product.split('{').second.split('}').first);
}
inline Names factorsOf(llvm::StringRef product) {
  return registersOf(product.split('}').second.split('{').second.split('}').first);
}

// May other lines run behind it than the next one, or ahead of it than the one before? Labels of debug
// information are none.
inline bool isBranchOrLabel(llvm::StringRef code) {
  bool isLabel = code.ends_with(":") && !code.starts_with("$L__tmp");
  return isLabel || code.contains("bra") || code.contains("brx") || code.starts_with("ret") ||
         code.starts_with("exit") || code.starts_with("call");
}

// Takes the text apart into its lines, each with its end.
template <typename Body> void eachWholeLine(llvm::StringRef text, Body body) {
  while (!text.empty()) {
    size_t length = std::min(text.find('\n'), text.size() - 1) + 1;
    body(text.take_front(length));
    text = text.drop_front(length);
  }
}

} // namespace tegula::nvidia
