#include "targets/nvidia/SharedDivisors.h"
#include "targets/nvidia/Subnormals.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Analysis/SimplifyQuery.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace tegula::nvidia {

namespace {

constexpr size_t fewest = 4; // the two numbers of a divisor take six instructions

// a / b is (a * scale) * reciprocal: the machine's reciprocals are those of numbers from 2^-126 to 2^126.
struct Divisor {
  Value *scale, *reciprocal;
};

Divisor prepare(IRBuilder<> &builder, Value *divisor) {
  auto number = [&](double value) { return ConstantFP::get(builder.getFloatTy(), value); };
  Value *size = builder.CreateUnaryIntrinsic(Intrinsic::fabs, divisor);
  Value *scale = number(1);
  if (!isNeverSubnormal(divisor))
    scale = builder.CreateSelect(builder.CreateFCmpOLT(size, number(0x1p-126)), number(0x1p24), scale);
  scale = builder.CreateSelect(builder.CreateFCmpOGT(size, number(0x1p126)), number(0x1p-2), scale);
  Value *scaled = builder.CreateFMul(divisor, scale);
  return {scale, builder.CreateIntrinsic(builder.getFloatTy(), Intrinsic::nvvm_rcp_approx_ftz_f, {scaled})};
}

// A quotient is rounded by itself: its last product becomes no part of a sum.
Value *divide(IRBuilder<> &builder, Value *dividend, const Divisor &by) {
  return builder.CreateIntrinsic(builder.getFloatTy(), Intrinsic::nvvm_mul_rn_f,
                                 {builder.CreateFMul(dividend, by.scale), by.reciprocal});
}

bool isNegativeNever(const Value *value, const SimplifyQuery &query) {
  auto *call = dyn_cast<IntrinsicInst>(value);
  return (call && call->getIntrinsicID() == Intrinsic::nvvm_ex2_approx_ftz) ||
         cannotBeOrderedLessThanZero(value, query);
}

// Is it 1 or more, or no number? So are a sigmoid's divisors.
bool isAtLeastOne(const Value *value, const SimplifyQuery &query) {
  const APFloat *one = nullptr;
  const Value *other = nullptr;
  return match(value, m_c_FAdd(m_APFloat(one), m_Value(other))) && *one >= APFloat(1.0f) &&
         isNegativeNever(other, query);
}

// Of such a divisor: a quarter of it is no subnormal number, nor is its reciprocal, so that nothing is asked.
// Where the assembler asks, with predicates, it has too few of these for the masks of many loads, and lets
// each load wait for the one before.
Divisor prepareLarge(IRBuilder<> &builder, Value *divisor) {
  Value *quarter = ConstantFP::get(builder.getFloatTy(), 0.25);
  Value *scaled = builder.CreateFMul(divisor, quarter);
  return {quarter, builder.CreateIntrinsic(builder.getFloatTy(), Intrinsic::nvvm_rcp_approx_ftz_f, {scaled})};
}

} // namespace

void shareDivisors(Function &function) {
  const SimplifyQuery query(function.getDataLayout());
  for (BasicBlock &block : function) {
    MapVector<Value *, SmallVector<IntrinsicInst *>> divisions;
    for (Instruction &each : block)
      if (auto *call = dyn_cast<IntrinsicInst>(&each); call &&
                                                       call->getIntrinsicID() == Intrinsic::nvvm_div_full &&
                                                       !isa<Constant>(call->getArgOperand(1)))
        divisions[call->getArgOperand(1)].push_back(call);
    for (auto &[divisor, calls] : divisions) {
      bool isLarge = isAtLeastOne(divisor, query);
      if (!isLarge && calls.size() < fewest)
        continue;
      IRBuilder<> builder(calls.front());
      Divisor by = isLarge ? prepareLarge(builder, divisor) : prepare(builder, divisor);
      for (IntrinsicInst *call : calls) {
        builder.SetInsertPoint(call);
        call->replaceAllUsesWith(divide(builder, call->getArgOperand(0), by));
        call->eraseFromParent();
      }
    }
  }
}

} // namespace tegula::nvidia
