#include "targets/nvidia/KeptSums.h"
#include "targets/nvidia/InlineAssembly.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/CFG.h"

using namespace llvm;

namespace tegula::nvidia {

namespace {

constexpr size_t mostValues = 1 << 16; // followed from the sums of one product; of more, some count as needed

// Was the value computed ahead of the place, or in a trip before, and is it needed behind it?
bool isNeededBehind(const Instruction &value, const Instruction &place) {
  const BasicBlock *home = value.getParent(), *ours = place.getParent();
  bool isAhead = home != ours || value.comesBefore(&place);
  SmallPtrSet<const BasicBlock *, 8> entered; // blocks at whose beginnings it is needed
  SmallVector<const BasicBlock *> open;
  auto enter = [&](const BasicBlock *block) {
    if (block != home && entered.insert(block).second)
      open.push_back(block);
  };
  auto needAtEnd = [&](const BasicBlock *block) {
    enter(block);
    return block == ours && isAhead;
  };
  for (const Use &use : value.uses()) {
    auto *user = cast<Instruction>(use.getUser());
    if (auto *join = dyn_cast<PHINode>(user)) {
      if (needAtEnd(join->getIncomingBlock(use)))
        return true;
    } else if (user->getParent() == ours && isAhead && place.comesBefore(user)) {
      return true;
    } else {
      enter(user->getParent());
    }
  }
  while (!open.empty())
    for (const BasicBlock *before : predecessors(open.pop_back_val()))
      if (needAtEnd(before))
        return true;
  return false;
}

// Is something needed behind the product that was computed from its sums?
bool outlives(const CallInst &product, unsigned sums) {
  SmallPtrSet<const Instruction *, 32> reached;
  SmallVector<const Instruction *> open;
  auto reach = [&](const Value *value) {
    for (const User *user : value->users()) {
      auto *computed = cast<Instruction>(user);
      if (computed != &product && isComputation(*computed) && reached.insert(computed).second)
        open.push_back(computed);
    }
  };
  for (unsigned i = 0; i != sums; ++i)
    if (!isa<Constant>(product.getArgOperand(i)))
      reach(product.getArgOperand(i));
  while (!open.empty()) {
    const Instruction *computed = open.pop_back_val();
    if (reached.size() > mostValues || isNeededBehind(*computed, product))
      return true;
    reach(computed);
  }
  return false;
}

// For LLVM the copy is another value, so that it gets another register.
Value *copyOf(IRBuilder<> &b, Value *sum) {
  Type *type = sum->getType();
  return emitComputation(b, type, "mov.b32 $0, $1;", type->isIntegerTy() ? "=&r,r" : "=&f,f", {sum});
}

} // namespace

void copyKeptSums(Function &function) {
  for (BasicBlock &block : function)
    for (Instruction &each : block)
      if (startsStep(each)) {
        auto &product = cast<CallInst>(each);
        unsigned sums = sumsOf(product);
        if (!outlives(product, sums))
          continue;
        IRBuilder<> b(&product);
        for (unsigned i = 0; i != sums; ++i)
          product.setArgOperand(i, copyOf(b, product.getArgOperand(i)));
      }
}

} // namespace tegula::nvidia
