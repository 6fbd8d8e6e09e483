#include "targets/nvidia/EqualPieces.h"
#include "targets/nvidia/AssemblyOperands.h"

using namespace llvm;

namespace tegula::nvidia {

namespace {

constexpr unsigned wordsOfRows = 4; // of a piece in one step

void separate(CallInst &step) {
  unsigned first = sumsOf(step) + 1; // behind the sums and the descriptor of the second factor
  if (step.arg_size() <= first + wordsOfRows || !step.getArgOperand(first)->getType()->isIntegerTy(32))
    return; // one piece, or rows in shared memory
  auto wordsOf = [&](unsigned piece) {
    SmallVector<Value *, wordsOfRows> words;
    for (unsigned i = 0; i != wordsOfRows; ++i)
      words.push_back(step.getArgOperand(first + piece * wordsOfRows + i));
    return words;
  };
  unsigned pieces = (step.arg_size() - first) / wordsOfRows;
  SmallVector<unsigned> equal; // pieces that have the words of an earlier one
  for (unsigned piece = 1; piece != pieces; ++piece)
    for (unsigned before = 0; before != piece; ++before)
      if (wordsOf(piece) == wordsOf(before)) {
        equal.push_back(piece);
        break;
      }
  IRBuilder<> b(&step);
  for (unsigned piece : equal) {
    unsigned at = first + piece * wordsOfRows;
    Value *word = step.getArgOperand(at);
    auto *constant = dyn_cast<ConstantInt>(word);
    bool isOther = constant && constant->getZExtValue() == piece;
    step.setArgOperand(at, hiddenWord(b, word, isOther ? ~piece : piece));
  }
}

} // namespace

void separateEqualPieces(Function &function) {
  for (BasicBlock &block : function)
    for (Instruction &each : block)
      if (startsStep(each))
        separate(cast<CallInst>(each));
}

} // namespace tegula::nvidia
