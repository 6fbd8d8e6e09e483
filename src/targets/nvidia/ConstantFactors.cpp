#include "targets/nvidia/ConstantFactors.h"

#include "llvm/Analysis/ConstantFolding.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace tegula::nvidia {

namespace {

// The word's bits, if it is a constant that the assembler would negate.
std::optional<uint32_t> negativeWord(Value *operand, const DataLayout &layout) {
  auto *constant = dyn_cast<Constant>(operand);
  if (!constant || constant->getType()->getPrimitiveSizeInBits() != 32 || constant->getType()->isFloatTy())
    return std::nullopt;
  Type *i32 = Type::getInt32Ty(operand->getContext());
  auto *bits =
      dyn_cast_or_null<ConstantInt>(ConstantFoldCastOperand(Instruction::BitCast, constant, i32, layout));
  if (!bits || !bits->getValue().isNegative())
    return std::nullopt;
  return uint32_t(bits->getZExtValue());
}

// An instruction of one warp that multiplies matrices.
bool isProduct(const CallBase &call) {
  if (const auto *text = dyn_cast<InlineAsm>(call.getCalledOperand()))
    return text->getAsmString().starts_with("mma.sync");
  const Function *called = call.getCalledFunction();
  return called && called->getName().starts_with("llvm.nvvm.mma.");
}

// A grid has at least one program; the assembler does not count on that.
Value *hidden(IRBuilder<> &b, uint32_t word) {
  StringRef text = "{\n\t.reg .pred some;\n\t.reg .b32 programs;\n\tmov.u32 programs, %nctaid.x;\n\t"
                   "setp.ne.u32 some, programs, 0;\n\tselp.b32 $0, $1, 0, some;\n\t}";
  Type *i32 = b.getInt32Ty();
  return b.CreateCall(InlineAsm::get(FunctionType::get(i32, {i32}, false), text, "=r,n", false),
                      {b.getInt32(word)});
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
    for (Use &operand : call->args())
      if (std::optional<uint32_t> word = negativeWord(operand, function.getDataLayout())) {
        Value *&known = words[*word];
        if (!known)
          known = hidden(b, *word);
        IRBuilder<> here(call);
        operand.set(here.CreateBitCast(known, operand->getType()));
      }
  }
}

} // namespace tegula::nvidia
