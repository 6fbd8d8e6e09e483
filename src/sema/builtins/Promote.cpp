#include "sema/builtins/Promote.h"
#include "base/ByteFloat.h"

#include <cmath>

namespace tegula::sema::builtins {
namespace {

// bool < integer < float: a number of a lower or equal kind takes no part in the promotion.
int kindRank(DType type) { return isBool(type) ? 0 : isInteger(type) ? 1 : 2; }
bool isHalf(DType type) { return type == DType::F16 || type == DType::BF16; }

Promotion promoteFloats(DType left, DType right, bool division) {
  auto either = [&](DType type) { return left == type || right == type; };
  if (either(DType::F64))
    return {DType::F64};
  if (either(DType::F32))
    return {DType::F32};
  // Also float16 with bfloat16, where others widen.
  if (either(DType::F16))
    return {division ? DType::F32 : DType::F16};
  if (left == DType::BF16 && right == DType::BF16)
    return {division ? DType::F32 : DType::BF16};
  if (either(DType::BF16))
    return {DType::F32};
  if (isByteFloat(left) && isByteFloat(right))
    return {division ? DType::F32 : left == right ? left : DType::F16};
  return {left, PromotionFault::UnexpectedTypes}; // an 8-bit float with an integer
}

} // namespace

DType promoteIntegers(DType left, DType right) {
  unsigned l = bitWidth(left), r = bitWidth(right);
  if (isSigned(left) == isSigned(right))
    return l > r ? left : right;
  if (isUnsigned(left))
    return l >= r ? left : right;
  return r >= l ? right : left;
}

Promotion promote(DType left, bool leftIsNumber, DType right, bool rightIsNumber, bool division) {
  if (leftIsNumber != rightIsNumber) {
    DType number = leftIsNumber ? left : right, tensor = leftIsNumber ? right : left;
    if (kindRank(number) <= kindRank(tensor))
      return {division && (isHalf(tensor) || isByteFloat(tensor)) ? DType::F32 : tensor};
  }
  if (isFloat(left) || isFloat(right))
    return promoteFloats(left, right, division);
  if (division && isSigned(left) != isSigned(right))
    return {left, PromotionFault::DifferentSignedness};
  return {promoteIntegers(left, right)};
}

std::optional<DType> typeOfInteger(const llvm::APInt &value) {
  for (DType type : {DType::I32, DType::U32, DType::I64, DType::U64})
    if (fits(value, type))
      return type;
  return std::nullopt;
}

DType typeOfFloat(double value) {
  double magnitude = std::fabs(value);
  constexpr double smallest = 0x1p-126, largest = 0x1.fffffep127;
  bool special = magnitude == 0 || std::isinf(magnitude) || std::isnan(magnitude);
  return special || (magnitude >= smallest && magnitude <= largest) ? DType::F32 : DType::F64;
}

bool fits(const llvm::APInt &value, DType type) {
  if (isSigned(type))
    return value.isSignedIntN(bitWidth(type));
  return !value.isNegative() && value.getActiveBits() <= bitWidth(type);
}

} // namespace tegula::sema::builtins
