#include "targets/nvidia/EqualPieces.h"
#include "targets/nvidia/InlineAssembly.h"

#include <map>

using namespace llvm;

namespace tegula::nvidia {

namespace {

constexpr unsigned wordsOfRows = 4; // of a piece in one step

// The first word of the rows that a step takes from registers: behind the sums and the descriptor of the
// second factor. 0: they are in shared memory.
unsigned firstWord(const CallInst &step) {
  unsigned first = sumsOf(step) + 1;
  return step.arg_size() >= first + wordsOfRows && step.getArgOperand(first)->getType()->isIntegerTy(32)
             ? first
             : 0;
}

// Hidden words of constants, at the beginning of a function; those of other operands are other values.
class HiddenConstants {
public:
  explicit HiddenConstants(Function &function) : b_(&*function.getEntryBlock().getFirstInsertionPt()) {}

  void hide(Use &operand) {
    auto *constant = dyn_cast<ConstantInt>(operand);
    if (!constant)
      return;
    auto word = uint32_t(constant->getZExtValue()), other = word ^ (operand.getOperandNo() + 1);
    Value *&known = words_[{word, other}];
    if (!known)
      known = hiddenWord(b_, constant, other);
    operand.set(known);
  }

private:
  IRBuilder<> b_;
  std::map<std::pair<uint32_t, uint32_t>, Value *> words_;
};

// Do two pieces of a step multiply the same rows?
bool areEqual(const CallInst &step, unsigned one, unsigned other) {
  for (unsigned i = 0; i != wordsOfRows; ++i)
    if (step.getArgOperand(one + i) != step.getArgOperand(other + i))
      return false;
  return true;
}

// The first words of pieces whose rows an earlier one has.
SmallVector<unsigned> equalPieces(const CallInst &step, unsigned first) {
  SmallVector<unsigned> equal;
  for (unsigned piece = first + wordsOfRows; piece < step.arg_size(); piece += wordsOfRows)
    for (unsigned before = first; before != piece; before += wordsOfRows)
      if (areEqual(step, piece, before)) {
        equal.push_back(piece);
        break;
      }
  return equal;
}

} // namespace

void separateEqualPieces(Function &function) {
  if (function.isDeclaration())
    return;
  HiddenConstants constants(function);
  for (BasicBlock &block : function)
    for (Instruction &each : block) {
      if (!startsStep(each))
        continue;
      auto &step = cast<CallInst>(each);
      unsigned first = firstWord(step);
      if (first == 0)
        continue;
      for (Use &operand : drop_begin(step.args(), first))
        constants.hide(operand);
      IRBuilder<> b(&step);
      for (unsigned piece : equalPieces(step, first))
        for (unsigned word = piece; word != piece + wordsOfRows; ++word)
          step.setArgOperand(word, hiddenWord(b, step.getArgOperand(word), word));
    }
}

} // namespace tegula::nvidia
