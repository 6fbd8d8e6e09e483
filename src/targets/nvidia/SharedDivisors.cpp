#include "targets/nvidia/SharedDivisors.h"
#include "targets/nvidia/Subnormals.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace llvm;

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

} // namespace

void shareDivisors(Function &function) {
  for (BasicBlock &block : function) {
    MapVector<Value *, SmallVector<IntrinsicInst *>> divisions;
    for (Instruction &each : block)
      if (auto *call = dyn_cast<IntrinsicInst>(&each); call &&
                                                       call->getIntrinsicID() == Intrinsic::nvvm_div_full &&
                                                       !isa<Constant>(call->getArgOperand(1)))
        divisions[call->getArgOperand(1)].push_back(call);
    for (auto &[divisor, calls] : divisions) {
      if (calls.size() < fewest)
        continue;
      IRBuilder<> builder(calls.front());
      Divisor by = prepare(builder, divisor);
      for (IntrinsicInst *call : calls) {
        builder.SetInsertPoint(call);
        call->replaceAllUsesWith(divide(builder, call->getArgOperand(0), by));
        call->eraseFromParent();
      }
    }
  }
}

} // namespace tegula::nvidia
