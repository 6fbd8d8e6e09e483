// Types of mixed operands: (type, type) -> the type in which both are computed. Upstream's
// table, rule by rule; pure, so that a test can state the table again. A *number* is a
// compile-time constant; a run-time scalar promotes like a tile.
#pragma once
#include "base/DType.h"

#include "llvm/ADT/APInt.h"

#include <optional>

namespace tegula::sema::builtins {

enum class PromotionFault : uint8_t { None, UnexpectedTypes, DifferentSignedness };

struct Promotion {
  DType type = DType::I32; // meaningless with a fault
  PromotionFault fault = PromotionFault::None;
};

// `division`: one of / // %, which never compute in 16-bit floats nor mix signs.
Promotion promote(DType left, bool leftIsNumber, DType right, bool rightIsNumber, bool division);
// C's usual arithmetic conversions by width, without the promotion to int.
DType promoteIntegers(DType left, DType right);

// The type an integer gets as a run-time scalar: the first of int32, uint32, int64, uint64
// that holds it; nullopt: none does.
std::optional<DType> typeOfInteger(const llvm::APInt &value);
// fp32, or fp64 for what fp32 cannot hold as a normal number.
DType typeOfFloat(double value);
// Does an integer fit an integer type?
bool fits(const llvm::APInt &value, DType type);

} // namespace tegula::sema::builtins
