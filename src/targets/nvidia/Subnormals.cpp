// Numbers are followed by their step: a power of two that each finite one is a multiple of. One that is a
// multiple of 2^-126 is zero or at least that. Rounding keeps steps, as f32 rounds to a multiple of a power
// of two itself.
#include "targets/nvidia/Subnormals.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Operator.h"
#include "llvm/IR/PatternMatch.h"

#include <algorithm>
#include <climits>

using namespace llvm;
using namespace llvm::PatternMatch;

namespace tegula::nvidia {

namespace {

constexpr int unknown = -149,
              normal = -126;         // exponents of f32: of its smallest step, and of its first normal number
constexpr int stepOfHalf = -24;      // the smallest subnormal number of f16
constexpr unsigned mostFollowed = 6; // ops behind one another

int stepOf(const Value *value, unsigned depth);

// Of a constant: its exponent, and its step. Zero is a multiple of anything.
int exponentOf(const APFloat &number) { return number.isZero() ? INT_MIN / 2 : ilogb(number); }
int stepOf(const APFloat &number) {
  constexpr int ofZero = 127, places = 23;
  if (number.isZero() || !number.isFinite())
    return ofZero;
  APInt mantissa = number.bitcastToAPInt().getLoBits(places);
  return exponentOf(number) - places + int(mantissa.isZero() ? places : mantissa.countr_zero());
}

// Of a sum with a constant, which may round once with a product in it. Either the other one is less than half
// of the constant, and the sum at least that half; or it is a multiple of 2^(exponent - 1 - 47), the last of
// the 48 places of an exact product. The places of a sum of that size are above both.
int besideConstant(const Value *value) {
  constexpr int placesOfProduct = 48;
  const APFloat *number = nullptr;
  return match(value, m_APFloat(number)) && number->isFiniteNonZero() ? exponentOf(*number) - placesOfProduct
                                                                      : unknown;
}

int ofSum(const Value *a, const Value *b, unsigned depth) {
  return std::max({std::min(stepOf(a, depth), stepOf(b, depth)), besideConstant(a), besideConstant(b)});
}
int ofProduct(const Value *a, const Value *b, unsigned depth) {
  return std::max(unknown, std::min(0, stepOf(a, depth) + stepOf(b, depth)));
}

int ofIntrinsic(const IntrinsicInst *call, unsigned depth) {
  switch (call->getIntrinsicID()) {
  case Intrinsic::fabs:
  case Intrinsic::copysign: return stepOf(call->getArgOperand(0), depth);
  case Intrinsic::minnum:
  case Intrinsic::maxnum:
  case Intrinsic::minimum:
  case Intrinsic::maximum:
    return std::min(stepOf(call->getArgOperand(0), depth), stepOf(call->getArgOperand(1), depth));
  case Intrinsic::fma:
  case Intrinsic::fmuladd: {
    const Value *added = call->getArgOperand(2);
    int product = ofProduct(call->getArgOperand(0), call->getArgOperand(1), depth);
    return std::max(std::min(product, stepOf(added, depth)), besideConstant(added));
  }
  default: return unknown;
  }
}

int stepOf(const Value *value, unsigned depth) {
  const APFloat *number = nullptr;
  if (match(value, m_APFloat(number)))
    return value->getType()->getScalarType()->isFloatTy() ? stepOf(*number) : unknown;
  if (depth == mostFollowed)
    return unknown;
  ++depth;
  if (auto *call = dyn_cast<IntrinsicInst>(value))
    return ofIntrinsic(call, depth);
  auto *op = dyn_cast<Instruction>(value);
  if (!op)
    return unknown;
  switch (op->getOpcode()) {
  case Instruction::FPExt:
    return op->getOperand(0)->getType()->getScalarType()->isHalfTy() ? stepOfHalf : unknown;
  case Instruction::SIToFP:
  case Instruction::UIToFP: return 0;
  case Instruction::FNeg:
  case Instruction::ExtractElement: return stepOf(op->getOperand(0), depth);
  case Instruction::Select:
    return std::min(stepOf(op->getOperand(1), depth), stepOf(op->getOperand(2), depth));
  case Instruction::FAdd:
  case Instruction::FSub: return ofSum(op->getOperand(0), op->getOperand(1), depth);
  case Instruction::FMul: return ofProduct(op->getOperand(0), op->getOperand(1), depth);
  default: return unknown;
  }
}

} // namespace

bool isNeverSubnormal(const Value *value) {
  return value->getType()->isFloatTy() && stepOf(value, 0) >= normal;
}

} // namespace tegula::nvidia
