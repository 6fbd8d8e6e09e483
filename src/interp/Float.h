// Elements as bits, and what bits mean: the widths of all element types, and conversions
// between floats as bits and host doubles. Every float type but f64 is exact in a double.
#pragma once
#include "ir/tile/Tile.h"
#include "mlir/IR/Types.h"
#include "llvm/ADT/FloatingPointMode.h"

#include <cstdint>
#include <optional>

namespace tegula::interp {

enum class Element : uint8_t { I1, I8, I16, I32, I64, Pointer, F8E4M3, F8E5M2, F16, BF16, F32, F64 };

// The element of a tile's or scalar's type (index is I64); nullopt for another type.
std::optional<Element> elementOf(mlir::Type type);
unsigned widthOf(Element element);
inline bool isFloat(Element element) { return element >= Element::F8E4M3; }

// Bits are kept zero-extended to 64.
inline uint64_t truncate(uint64_t bits, unsigned width) {
  return width == 64 ? bits : bits & ((uint64_t(1) << width) - 1);
}
inline int64_t signExtend(uint64_t bits, unsigned width) {
  return int64_t(bits << (64 - width)) >> (64 - width);
}

double decode(Element element, uint64_t bits);
// Rounds once, to nearest even. Overflow gives infinity, for 8-bit floats the largest
// finite value.
uint64_t encode(Element element, double value);
uint64_t encode(Element element, double value, llvm::RoundingMode rounding);
// Integers of 64 bits; rounds once.
uint64_t encodeInteger(Element element, uint64_t value, bool isSigned);
// Truncates and saturates; NaN gives 0.
uint64_t toInteger(double value, unsigned width, bool isSigned);
// a * b + c, rounded once to `element`.
uint64_t fusedMultiplyAdd(Element element, uint64_t a, uint64_t b, uint64_t c);
// An operation on f32 or f64, rounded once.
uint64_t arithmetic(Element element, tile::DirectedKind kind, llvm::ArrayRef<uint64_t> operands,
                    llvm::RoundingMode rounding);

} // namespace tegula::interp
