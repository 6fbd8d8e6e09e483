#include "targets/nvidia/SunkComparisons.h"
#include "targets/nvidia/Conditions.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace tegula::nvidia {

namespace {

// So many comparisons are worth one register of 32 bits that is kept for them.
constexpr size_t movedForOne = 4;

// Is it one of two constants, or a condition as a number?
bool isMadeOfCondition(const Instruction &value) {
  if (auto *choice = dyn_cast<SelectInst>(&value))
    return isa<Constant>(choice->getTrueValue()) && isa<Constant>(choice->getFalseValue());
  return isa<CastInst>(value) && value.getOperand(0)->getType()->isIntegerTy(1);
}

// Is it a sum, bits or another width of one number?
bool changesOneNumber(const Instruction &value) {
  if (isa<ZExtInst, SExtInst, TruncInst>(value))
    return true;
  return isa<BinaryOperator>(value) && value.getType()->isIntegerTy() && !value.isIntDivRem() &&
         count_if(value.operands(), [](const Use &each) { return !isa<Constant>(each); }) == 1;
}

// Instructions that move to one block, the last first.
struct Group {
  SmallSetVector<Instruction *, 16> moved;
  size_t comparisons = 0;

  // Values of the block that nothing needs behind it but the group: each takes a register more.
  size_t kept(const BasicBlock &home) const {
    SetVector<const Instruction *> found;
    for (const Instruction *each : moved)
      for (const Use &operand : each->operands()) {
        auto *value = dyn_cast<Instruction>(operand);
        if (value && value->getParent() == &home && !moved.contains(const_cast<Instruction *>(value)) &&
            all_of(value->users(), [&](const User *user) {
              auto *at = cast<Instruction>(user);
              return at->getParent() == &home || moved.contains(const_cast<Instruction *>(at));
            }))
          found.insert(value);
      }
    return found.size();
  }
};

void sinkFrom(BasicBlock &home, const LoopInfo &loops) {
  MapVector<BasicBlock *, Group> groups;
  DenseMap<const Instruction *, BasicBlock *> goals;
  // The block of all users, as they will lie; null where there are several, none, or a join.
  auto goalOf = [&](const Instruction &value) {
    BasicBlock *found = nullptr;
    for (const User *user : value.users()) {
      auto *at = cast<Instruction>(user);
      BasicBlock *goal = goals.lookup_or(at, const_cast<BasicBlock *>(at->getParent()));
      if (isa<PHINode>(at) || (found && goal != found))
        return static_cast<BasicBlock *>(nullptr);
      found = goal;
    }
    return found;
  };
  for (Instruction &each : reverse(home)) {
    bool ofCondition = makesCondition(each) || isMadeOfCondition(each);
    if (!ofCondition && !changesOneNumber(each))
      continue;
    BasicBlock *goal = goalOf(each);
    if (!goal || goal == &home || loops.getLoopFor(goal) != loops.getLoopFor(&home))
      continue;
    // A number goes where all that is made of it goes; alone it is a register here as there.
    bool moves = ofCondition || all_of(each.users(), [&](const User *user) {
                   return goals.contains(cast<Instruction>(user));
                 });
    if (!moves)
      continue;
    Group &group = groups[goal];
    group.moved.insert(&each);
    group.comparisons += isa<CmpInst>(each);
    goals[&each] = goal;
  }
  for (auto &[needs, group] : groups) {
    if (group.comparisons < conditionRegisters || group.kept(home) * movedForOne > group.comparisons)
      continue;
    for (Instruction *each : group.moved) {
      auto first = min_element(each->users(), [](const User *a, const User *b) {
        return cast<Instruction>(a)->comesBefore(cast<Instruction>(b));
      });
      each->moveBefore(cast<Instruction>(*first)->getIterator());
    }
  }
}

} // namespace

void sinkComparisons(Function &function) {
  if (function.isDeclaration())
    return;
  DominatorTree dominators(function);
  LoopInfo loops(dominators);
  for (BasicBlock &block : function)
    sinkFrom(block, loops);
}

} // namespace tegula::nvidia
