#include "targets/nvidia/MasksOfAccesses.h"
#include "targets/nvidia/Conditions.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Transforms/Utils/Local.h"

#include <tuple>

using namespace llvm;

namespace tegula::nvidia {

namespace {

// An instruction of the target's under a condition, and what that is a conjunction of.
struct Access {
  CallInst *call;
  unsigned operand; // of the call: its condition
  SmallVector<Value *, 8> conjuncts;
};

bool isConjunction(const Value *value, const BasicBlock &block) {
  auto *op = dyn_cast<BinaryOperator>(value);
  return op && op->getOpcode() == Instruction::And && op->getType()->isIntegerTy(1) &&
         op->getParent() == &block && op->hasOneUse();
}

// The conjuncts of a condition, the first one first, without those that stand there twice.
SmallVector<Value *, 8> conjunctsOf(Value *condition, const BasicBlock &block) {
  SmallVector<Value *, 8> found, work{condition};
  while (!work.empty()) {
    Value *each = work.pop_back_val();
    if (isConjunction(each, block)) {
      work.push_back(cast<Instruction>(each)->getOperand(1));
      work.push_back(cast<Instruction>(each)->getOperand(0));
    } else if (!is_contained(found, each)) {
      found.push_back(each);
    }
  }
  return found;
}

// The accesses of a block in their order. One with several conditions is none of these.
SmallVector<Access> accessesOf(BasicBlock &block) {
  SmallVector<Access> accesses;
  for (Instruction &each : block) {
    auto *call = dyn_cast<CallInst>(&each);
    if (!call || !call->isInlineAsm())
      continue;
    auto isCondition = [](const Use &use) { return use->getType()->isIntegerTy(1) && !isa<Constant>(use); };
    if (count_if(call->args(), isCondition) != 1)
      continue;
    unsigned operand = find_if(call->args(), isCondition)->getOperandNo();
    accesses.push_back({call, operand, conjunctsOf(call->getArgOperand(operand), block)});
  }
  return accesses;
}

// Conjoins what accesses share in one order, what most have first, and of that what is there ahead of the
// block, so that accesses which have it have one value.
class SharedConjunctions {
public:
  SharedConjunctions(ArrayRef<Access> accesses, const BasicBlock &block) : block_(block) {
    for (const Access &access : accesses)
      for (Value *each : access.conjuncts)
        ++accessesOf_[each];
    for (auto [index, each] : enumerate(accessesOf_))
      place_[each.first] = index;
  }

  // Puts conjunctions ahead of the access where they are not there yet.
  void rewrite(Access &access) {
    auto order = [&](Value *each) {
      auto *made = dyn_cast<Instruction>(each);
      return std::tuple(~accessesOf_.lookup(each), made && made->getParent() == &block_, place_.lookup(each));
    };
    sort(access.conjuncts, [&](Value *a, Value *b) { return order(a) < order(b); });
    Value *all = access.conjuncts[0];
    for (Value *each : drop_begin(access.conjuncts)) {
      Value *&known = conjunctions_[{all, each}];
      if (!known)
        known = BinaryOperator::CreateAnd(all, each, "", access.call->getIterator());
      all = known;
    }
    Value *before = access.call->getArgOperand(access.operand);
    access.call->setArgOperand(access.operand, all);
    RecursivelyDeleteTriviallyDeadInstructions(before);
  }

private:
  const BasicBlock &block_;
  MapVector<Value *, unsigned> accessesOf_;
  DenseMap<Value *, size_t> place_; // of first appearance
  DenseMap<std::pair<Value *, Value *>, Value *> conjunctions_;
};

// Moves what only the access needs of its condition to it.
void moveOwnConditions(const Access &access) {
  SmallVector<Instruction *> own;
  auto add = [&](const Use &operand) {
    auto *value = dyn_cast<Instruction>(operand);
    if (value && makesCondition(*value) && value->hasOneUse() &&
        value->getParent() == access.call->getParent())
      own.push_back(value);
  };
  add(access.call->getArgOperandUse(access.operand));
  Instruction *before = access.call;
  for (size_t i = 0; i != own.size(); ++i) { // behind its user, ahead of what it is made of
    own[i]->moveBefore(before->getIterator());
    before = own[i];
    for_each(own[i]->operands(), add);
  }
}

} // namespace

void makeMasksAtAccesses(Function &function) {
  for (BasicBlock &block : function) {
    SmallVector<Access> accesses = accessesOf(block);
    auto hasOwn = [](const Access &access) { return access.conjuncts.size() > 1; };
    if (size_t(count_if(accesses, hasOwn)) < conditionRegisters)
      continue;
    SharedConjunctions shared(accesses, block);
    for (Access &access : accesses)
      shared.rewrite(access);
    for (const Access &access : accesses)
      moveOwnConditions(access);
  }
}

} // namespace tegula::nvidia
