#include "targets/nvidia/SharedSums.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"

#include <map>
#include <set>
#include <vector>

using namespace llvm;

namespace tegula::nvidia {

namespace {

// Longer sums are numbers like any other: each link of a chain of additions would have all before it.
constexpr size_t mostParts = 8;
constexpr int64_t mostTimes = 64; // that a part is added
// So many sums in a loop are worth one more addition, which hides them from loop strength reduction.
constexpr size_t fewestHidden = 8;

// Parts and a constant. A part is a number that is no sum, and how often it is added; negative: subtracted.
struct Sum {
  SmallVector<std::pair<Value *, int64_t>, 4> parts; // in the order of the first appearance
  uint64_t constant = 0;                             // of as many bits as the type has

  void add(Value *value, int64_t times) {
    auto *found = find_if(parts, [&](const auto &part) { return part.first == value; });
    if (found == parts.end())
      parts.emplace_back(value, times);
    else if ((found->second += times) == 0)
      parts.erase(found);
  }
  void add(const Sum &other, int64_t times) {
    for (auto [value, each] : other.parts)
      add(value, each * times);
    constant += other.constant * uint64_t(times);
  }
};

bool isSum(const Value *value) {
  auto *op = dyn_cast<BinaryOperator>(value);
  if (!op || !op->getType()->isIntegerTy())
    return false;
  unsigned bits = op->getType()->getIntegerBitWidth();
  if (bits < 8 || bits > 64)
    return false;
  auto *joined = dyn_cast<PossiblyDisjointInst>(op);
  return op->getOpcode() == Instruction::Add || op->getOpcode() == Instruction::Sub ||
         (joined && joined->isDisjoint());
}

class Sums {
public:
  // Of an operand that is no sum, itself.
  Sum of(Value *value) const {
    if (auto known = sums_.find(value); known != sums_.end())
      return known->second;
    Sum sum;
    if (auto *constant = dyn_cast<ConstantInt>(value); constant && constant->getBitWidth() <= 64)
      sum.constant = constant->getZExtValue();
    else
      sum.add(value, 1);
    return sum;
  }

  // The operand with more parts, then both, are a number like any other, and a constant, where the sum would
  // be too long.
  const Sum *note(Instruction &op) {
    Sum first = of(op.getOperand(0)), second = of(op.getOperand(1));
    bool isFirstLonger = first.parts.size() > second.parts.size();
    for (unsigned kept : {0, 1, 2}) {
      if (kept == 1)
        (isFirstLonger ? first : second) = asPart(op.getOperand(isFirstLonger ? 0 : 1));
      if (kept == 2)
        (isFirstLonger ? second : first) = asPart(op.getOperand(isFirstLonger ? 1 : 0));
      Sum sum = first;
      sum.add(second, op.getOpcode() == Instruction::Sub ? -1 : 1);
      if (sum.parts.empty())
        return nullptr;
      if (!isSmall(sum))
        continue;
      for (auto [value, times] : sum.parts)
        if (sums_.contains(value))
          parts_.insert(value);
      return &(sums_[&op] = std::move(sum));
    }
    return nullptr;
  }

  // The first sum of the same parts in the block, with its constant.
  void noteFirst(const Value *op, Value *first, uint64_t constant) { firsts_[op] = {first, constant}; }
  // Is it a part of other sums, though it is one itself?
  bool isPart(const Value *op) const { return parts_.contains(op); }

private:
  static bool isSmall(const Sum &sum) {
    return sum.parts.size() <= mostParts && llvm::all_of(sum.parts, [](const auto &part) {
             return part.second >= -mostTimes && part.second <= mostTimes;
           });
  }

  Sum asPart(Value *value) const {
    auto found = firsts_.find(value);
    if (found == firsts_.end())
      return of(value);
    Sum sum;
    sum.add(found->second.first, 1);
    sum.constant = of(value).constant - found->second.second;
    return sum;
  }

  DenseMap<Value *, Sum> sums_; // of those that are sums
  DenseMap<const Value *, std::pair<Value *, uint64_t>> firsts_;
  DenseSet<const Value *> parts_;
};

struct Member {
  Instruction *op;
  uint64_t constant;
};

// Those of a block that are sums of the same parts.
struct Group {
  Sum sum;
  std::vector<Member> members;
};

// The parts in the order of their addresses: sums of the same parts have the same key.
using Key = std::vector<std::pair<Value *, int64_t>>;

Key keyOf(const Sum &sum) {
  Key key(sum.parts.begin(), sum.parts.end());
  llvm::sort(key);
  return key;
}

// Additions that the parts of a sum take.
size_t costOf(const Sum &sum) {
  size_t cost = sum.parts.size() - 1;
  for (auto [value, times] : sum.parts)
    cost += times != 1 && times != -1;
  return cost;
}

Value *emitParts(IRBuilder<> &builder, const Sum &sum, Type *type) {
  // Those from other blocks go ahead of the block's own, so that their sum may leave a loop, and of either
  // those that are added go first.
  auto isOfBlock = [&](Value *value) {
    auto *op = dyn_cast<Instruction>(value);
    return op && op->getParent() == builder.GetInsertBlock();
  };
  Value *result = nullptr;
  auto append = [&](Value *value, int64_t times) {
    uint64_t count = uint64_t(times < 0 ? -times : times);
    Value *part = count == 1 ? value : builder.CreateMul(value, ConstantInt::get(type, count));
    if (!result)
      result = times < 0 ? builder.CreateNeg(part) : part;
    else
      result = times < 0 ? builder.CreateSub(result, part) : builder.CreateAdd(result, part);
  };
  for (auto [ofBlock, negative] : {std::pair(false, false), {false, true}, {true, false}, {true, true}})
    for (auto [value, times] : sum.parts)
      if (isOfBlock(value) == ofBlock && (times < 0) == negative)
        append(value, times);
  return result;
}

// Puts one sum of the parts, and a constant each, in the place of the members, which have no uses any more
// then. A sum that is hidden is no variable of its loop for LLVM.
void share(const Group &group, bool isHidden) {
  Instruction *first = group.members.front().op;
  IRBuilder<> builder(first);
  Type *type = first->getType();
  Value *parts = emitParts(builder, group.sum, type);
  if (isHidden)
    parts = builder.CreateFreeze(parts);
  std::map<uint64_t, Value *> known;
  for (const Member &member : group.members) {
    Value *&value = known[member.constant];
    if (!value) {
      builder.SetInsertPoint(member.op);
      value = member.constant ? builder.CreateAdd(parts, ConstantInt::get(type, member.constant)) : parts;
    }
    member.op->replaceAllUsesWith(value);
  }
}

// Is it a magnitude, a minimum or a maximum of integers? Whether its operands wrap says nothing of it.
bool isExtremum(const User *user) {
  auto *call = dyn_cast<IntrinsicInst>(user);
  return call && (call->getIntrinsicID() == Intrinsic::abs || isa<MinMaxIntrinsic>(call));
}

// Are the members numbers that are compared, become floats or magnitudes, or are parts of other sums, and so
// no addresses?
bool areOnlyCompared(const Group &group) {
  return llvm::all_of(group.members, [](const Member &member) {
    return llvm::all_of(member.op->users(), [](const User *user) {
      return isa<ICmpInst, SIToFPInst, UIToFPInst>(user) || isSum(user) || isExtremum(user);
    });
  });
}

// Is it known of a member that it does not wrap? Addresses are computed by that, and it is lost where the
// parts are added in another order.
bool isSomeKnownNotToWrap(const Group &group) {
  return llvm::any_of(group.members, [](const Member &member) {
    auto *joined = dyn_cast<PossiblyDisjointInst>(member.op);
    return joined || member.op->hasNoSignedWrap() || member.op->hasNoUnsignedWrap();
  });
}

size_t numberOfConstants(const Group &group) {
  std::set<uint64_t> constants;
  for (const Member &member : group.members)
    constants.insert(member.constant);
  return constants.size();
}

} // namespace

void shareSums(Function &function) {
  if (function.isDeclaration())
    return;
  Sums sums;
  std::vector<Group> groups;
  // Ahead of what uses it: a number that is known as a sum only later would be a part that is replaced.
  for (BasicBlock *block : ReversePostOrderTraversal<Function *>(&function)) {
    std::map<Key, size_t> places;
    for (Instruction &each : *block) {
      const Sum *sum = isSum(&each) ? sums.note(each) : nullptr;
      if (!sum)
        continue;
      auto [place, isNew] = places.try_emplace(keyOf(*sum), groups.size());
      if (isNew)
        groups.push_back({*sum, {}});
      uint64_t mask = maskTrailingOnes<uint64_t>(each.getType()->getIntegerBitWidth());
      groups[place->second].members.push_back({&each, sum->constant & mask});
      const Member &first = groups[place->second].members.front();
      sums.noteFirst(&each, first.op, first.constant);
    }
  }
  DominatorTree dominators(function);
  LoopInfo loops(dominators);
  SmallVector<Instruction *> replaced;
  for (const Group &group : groups) {
    if (llvm::any_of(group.members, [&](const Member &member) { return sums.isPart(member.op); }))
      continue; // it would be replaced in others
    bool someAreEqual = group.members.size() > numberOfConstants(group) + costOf(group.sum);
    bool areCompared = areOnlyCompared(group);
    bool isHidden = areCompared && group.members.size() >= fewestHidden &&
                    loops.getLoopFor(group.members.front().op->getParent());
    if (!isHidden && !(someAreEqual && (areCompared || !isSomeKnownNotToWrap(group))))
      continue;
    share(group, isHidden);
    for (const Member &member : group.members)
      replaced.push_back(member.op);
  }
  for (Instruction *each : llvm::reverse(replaced))
    each->eraseFromParent();
}

} // namespace tegula::nvidia
