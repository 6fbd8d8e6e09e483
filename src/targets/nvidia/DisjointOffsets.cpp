#include "targets/nvidia/DisjointOffsets.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace tegula::nvidia {

namespace {

constexpr unsigned bitsOfOffset = 20; // of elements; numbers of more are none of a tile

bool sharesBits(Instruction &each) {
  return each.getType()->isIntegerTy(32) && match(&each, m_Or(m_Value(), m_ConstantInt())) &&
         isa<Instruction>(each.getOperand(0)) && !cast<PossiblyDisjointInst>(each).isDisjoint();
}

} // namespace

void separateOffsets(Function &function) {
  SmallVector<Instruction *> found;
  for (Instruction &each : instructions(function))
    if (sharesBits(each))
      found.push_back(&each);
  DenseMap<std::pair<Value *, APInt>, Value *> masked; // by a value and the bits that it has no more
  for (Instruction *each : found) {
    auto *part = cast<Instruction>(each->getOperand(0));
    const APInt &constant = cast<ConstantInt>(each->getOperand(1))->getValue();
    APInt possible = ~computeKnownBits(part, function.getDataLayout()).Zero;
    std::optional<BasicBlock::iterator> behind = part->getInsertionPointAfterDef();
    if (!behind || possible.getActiveBits() > bitsOfOffset)
      continue;
    Value *&rest = masked[{part, possible & constant}];
    if (!rest)
      rest = IRBuilder<>(&**behind).CreateAnd(part, possible & ~constant);
    each->replaceAllUsesWith(IRBuilder<>(each).CreateOr(rest, each->getOperand(1), "", /*IsDisjoint=*/true));
    each->eraseFromParent();
  }
}

} // namespace tegula::nvidia
