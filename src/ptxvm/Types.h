// The types of PTX as values (Types.def).
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace tegula::ptxvm {

enum class TypeKind : uint8_t { None, Pred, Bits, UInt, SInt, Float, Packed };

enum class Type : uint8_t {
  None,
#define PTX_TYPE(Enum, text, bits, kind) Enum,
#include "ptxvm/Types.def"
#undef PTX_TYPE
};

std::string_view name(Type type);
std::optional<Type> typeFromName(std::string_view name);
unsigned bitWidth(Type type);
TypeKind kind(Type type);
// Bytes in memory.
inline unsigned byteSize(Type type) { return (bitWidth(type) + 7) / 8; }
inline bool isSigned(Type type) { return kind(type) == TypeKind::SInt; }
inline bool isInteger(Type type) { return kind(type) == TypeKind::SInt || kind(type) == TypeKind::UInt; }

} // namespace tegula::ptxvm
