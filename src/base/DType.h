// The element types of the language as a value: name, width, kind. Knows no compiler;
// the runtime uses it to check arguments, sema to promote, the interpreter to compute.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace tegula {

enum class DTypeKind : uint8_t { Bool, UInt, SInt, Float };

enum class DType : uint8_t {
#define DTYPE(Enum, name, signature, bits, kind) Enum,
#include "base/DType.def"
#undef DTYPE
};

// Upstream's spelling, e.g. "fp32", "int64".
std::string_view name(DType type);
// The short spelling of signatures, e.g. "f32", "i64".
std::string_view signatureName(DType type);
// Accepts "fp32", "f32", "float32", "int32", "i32", "bool", "i1", "bfloat16", ...
std::optional<DType> dtypeFromName(std::string_view name);

unsigned bitWidth(DType type);
DTypeKind kind(DType type);

// Is it an element of less than a byte? Such lie packed in memory; loads give them as `unpackedType`.
inline bool isPacked(DType type) { return bitWidth(type) < 8 && kind(type) != DTypeKind::Bool; }
inline DType unpackedType(DType type) {
  return kind(type) == DTypeKind::Float ? DType::F16 : kind(type) == DTypeKind::SInt ? DType::I8 : DType::U8;
}

// Bytes of one element in memory; a bool takes one byte.
inline unsigned byteSize(DType type) { return (bitWidth(type) + 7) / 8; }
inline bool isFloat(DType type) { return kind(type) == DTypeKind::Float; }
inline bool isBool(DType type) { return kind(type) == DTypeKind::Bool; }
// int1 counts as an integer, and as unsigned, as upstream has it.
inline bool isInteger(DType type) { return !isFloat(type); }
inline bool isSigned(DType type) { return kind(type) == DTypeKind::SInt; }
inline bool isUnsigned(DType type) { return isInteger(type) && !isSigned(type); }

} // namespace tegula
