// Inline assembly in LLVM's IR: operands of the kind that reads and writes sums, which instructions start
// products of several warps, which only compute, and words that the vendor's assembler cannot know.
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

// The number of sums that such a step reads: they are its first arguments.
inline unsigned sumsOf(const llvm::CallInst &step) {
  return assemblyOf(step)->ParseConstraints().front().hasMatchingInput()
             ? step.getType()->getStructNumElements()
             : 0;
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

// Assembly that only computes a value.
inline llvm::CallInst *emitComputation(llvm::IRBuilderBase &b, llvm::Type *result, llvm::StringRef text,
                                       llvm::StringRef constraints, llvm::ArrayRef<llvm::Value *> arguments) {
  llvm::SmallVector<llvm::Type *> types;
  for (llvm::Value *argument : arguments)
    types.push_back(argument->getType());
  auto *assembly = llvm::InlineAsm::get(llvm::FunctionType::get(result, types, false), text, constraints,
                                        /*hasSideEffects=*/false);
  llvm::CallInst *call = b.CreateCall(assembly, arguments);
  call->setDoesNotAccessMemory();
  call->setDoesNotThrow();
  return call;
}

// The word as a value that the assembler cannot know. A grid has at least one program; the assembler does not
// count on that, and reckons with `other`, too.
inline llvm::Value *hiddenWord(llvm::IRBuilderBase &b, llvm::Value *word, uint32_t other) {
  llvm::StringRef text = "{\n\t.reg .pred some;\n\t.reg .b32 programs;\n\tmov.u32 programs, %nctaid.x;\n\t"
                         "setp.ne.u32 some, programs, 0;\n\tselp.b32 $0, $1, $2, some;\n\t}";
  return emitComputation(b, b.getInt32Ty(), text, llvm::isa<llvm::Constant>(word) ? "=r,n,n" : "=r,r,n",
                         {word, b.getInt32(other)});
}

} // namespace tegula::nvidia
