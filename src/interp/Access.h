// The process's own memory, one element at a time.
#pragma once
#include "interp/Interpreter.h"

#include <cstring>

namespace tegula::interp {

// No process has memory there: a null pointer plus an offset.
inline constexpr uint64_t firstPage = 4096;

inline unsigned bytesOf(Element element) { return (widthOf(element) + 7) / 8; }

inline uint64_t readElement(uint64_t address, Element element) {
  uint64_t bits = 0;
  std::memcpy(&bits, reinterpret_cast<const void *>(address), bytesOf(element));
  return element == Element::I1 ? bits != 0 : bits;
}

inline void writeElement(uint64_t address, Element element, uint64_t bits) {
  std::memcpy(reinterpret_cast<void *>(address), &bits, bytesOf(element));
}

// False, with an error, for an address in the first page.
inline bool checkAddress(Interpreter &machine, mlir::Operation *op, uint64_t address) {
  return address >= firstPage ||
         machine.fail(op, StatusCode::Data,
                      "access to address " + llvm::Twine(address) + ", which is a null pointer");
}

} // namespace tegula::interp
