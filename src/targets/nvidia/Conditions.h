// Conditions of threads in LLVM's IR, and how many of them have a register.
#pragma once
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"

namespace tegula::nvidia {

// A thread's registers for conditions, P0 to P6. The assembler packs more conditions into bits of a word, and
// takes them out again.
inline constexpr size_t conditionRegisters = 7;

// Is it a comparison, or a conjunction and the like of conditions?
inline bool makesCondition(const llvm::Instruction &value) {
  return value.getType()->isIntegerTy(1) && (llvm::isa<llvm::CmpInst>(value) || value.isBitwiseLogicOp());
}

} // namespace tegula::nvidia
