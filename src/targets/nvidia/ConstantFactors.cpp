#include "targets/nvidia/ConstantFactors.h"
#include "targets/nvidia/InlineAssembly.h"

#include "llvm/Analysis/ConstantFolding.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace tegula::nvidia {

namespace {

// The bits of a word, if it is a constant.
std::optional<uint32_t> constantWord(Value *operand, const DataLayout &layout) {
  auto *constant = dyn_cast<Constant>(operand);
  if (!constant || constant->getType()->getPrimitiveSizeInBits() != 32 || constant->getType()->isFloatTy())
    return std::nullopt;
  Type *i32 = Type::getInt32Ty(operand->getContext());
  auto *bits =
      dyn_cast_or_null<ConstantInt>(ConstantFoldCastOperand(Instruction::BitCast, constant, i32, layout));
  return bits ? std::optional(uint32_t(bits->getZExtValue())) : std::nullopt;
}

// An instruction of one warp that multiplies matrices.
bool isProduct(const CallBase &call) {
  if (const auto *text = dyn_cast<InlineAsm>(call.getCalledOperand()))
    return text->getAsmString().starts_with("mma.sync");
  const Function *called = call.getCalledFunction();
  return called && called->getName().starts_with("llvm.nvvm.mma.");
}

bool multipliesByteFloats(const CallBase &call) {
  const auto *text = dyn_cast<InlineAsm>(call.getCalledOperand());
  return text && (StringRef(text->getAsmString()).contains(".e4m3") ||
                  StringRef(text->getAsmString()).contains(".e5m2"));
}

} // namespace

void hideConstantFactors(Function &function) {
  if (function.isDeclaration())
    return;
  std::map<uint32_t, Value *> words; // ordered: same input, same text
  IRBuilder<> b(&*function.getEntryBlock().getFirstInsertionPt());
  for (Instruction &each : instructions(function)) {
    auto *call = dyn_cast<CallBase>(&each);
    if (!call || !isProduct(*call))
      continue;
    bool isNegatedAlone = !multipliesByteFloats(*call);
    for (Use &operand : call->args()) {
      std::optional<uint32_t> word = constantWord(operand, function.getDataLayout());
      if (!word || (isNegatedAlone && int32_t(*word) >= 0))
        continue;
      Value *&known = words[*word];
      if (!known)
        known = hiddenWord(b, b.getInt32(*word), ~*word);
      IRBuilder<> here(call);
      operand.set(here.CreateBitCast(known, operand->getType()));
    }
  }
}

} // namespace tegula::nvidia
