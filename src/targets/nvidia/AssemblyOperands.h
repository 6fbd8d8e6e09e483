// Operands of inline assembly that reads and writes sums: lists of them, their constraints, and their values
// behind it. Which instructions are such assembly, and which only compute.
#pragma once
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"

namespace tegula::nvidia {

// The text of instructions that start a product of several warps begins so.
inline constexpr llvm::StringRef startsProduct = "wgmma.fence.sync.aligned;";

// "{$first, $first + 1, ...}".
inline std::string listed(unsigned first, unsigned count) {
  std::string text = "{";
  for (unsigned i = 0; i != count; ++i)
    text += (i ? ", $" : "$") + std::to_string(first + i);
  return text + "}";
}

// "=&f,=&f,...", then, where they are read as well, "0,1,...". Without the & a factor whose word equals a sum
// at the start would be read from the sum's own register.
inline std::string sumConstraints(llvm::ArrayRef<llvm::Type *> types, bool areRead) {
  std::string text;
  for (llvm::Type *type : types)
    text += std::string(text.empty() ? "=&" : ",=&") + (type->isIntegerTy() ? "r" : "f");
  for (size_t i = 0; areRead && i != types.size(); ++i)
    text += "," + std::to_string(i);
  return text;
}

// The parts of a result of several values.
inline llvm::SmallVector<llvm::Value *> parts(llvm::IRBuilderBase &b, llvm::Value *sums) {
  llvm::SmallVector<llvm::Value *> result;
  for (unsigned i = 0; i != sums->getType()->getStructNumElements(); ++i)
    result.push_back(b.CreateExtractValue(sums, i));
  return result;
}

// The assembly of an instruction; null: it is none.
inline const llvm::InlineAsm *assemblyOf(const llvm::Instruction &instruction) {
  auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  return call ? llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()) : nullptr;
}

// Does the instruction start a step of a product, or several?
inline bool startsStep(const llvm::Instruction &instruction) {
  const llvm::InlineAsm *assembly = assemblyOf(instruction);
  return assembly && llvm::StringRef(assembly->getAsmString()).starts_with(startsProduct);
}

// Does the instruction compute a value of its operands, and nothing else?
inline bool isComputation(const llvm::Instruction &instruction) {
  auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  if (llvm::isa<llvm::PHINode>(instruction) || instruction.isTerminator() || (call && call->isConvergent()))
    return false;
  const llvm::InlineAsm *assembly = assemblyOf(instruction);
  return assembly ? !assembly->hasSideEffects() && call->doesNotAccessMemory()
                  : !instruction.mayHaveSideEffects() && !instruction.mayReadFromMemory();
}

} // namespace tegula::nvidia
