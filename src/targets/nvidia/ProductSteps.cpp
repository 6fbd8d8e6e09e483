#include "targets/nvidia/ProductSteps.h"
#include "targets/nvidia/InlineAssembly.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace llvm;

namespace tegula::nvidia {

namespace {

constexpr size_t mostInstructions = 1 << 16; // of a region: those of larger ones stay as they are

// Computations and the steps behind them, up to the last one.
class Region {
public:
  Region(BasicBlock::iterator begin, BasicBlock::iterator end) {
    for (Instruction &each : make_range(begin, end))
      inside_.insert(&each);
    for (Instruction &each : make_range(begin, end)) {
      unsigned &users = left_[&each];
      SmallPtrSet<const User *, 4> counted;
      for (const User *user : each.users())
        users += counted.insert(user).second;
    }
  }

  // In the order in which the steps need them, then the rest.
  void order(BasicBlock::iterator begin, BasicBlock::iterator end) {
    for (Instruction &each : make_range(begin, end))
      if (startsStep(each))
        place(each);
    for (Instruction &each : make_range(begin, end))
      place(each);
    Instruction *behind = &*end;
    for (Instruction *each : placed_)
      each->moveBefore(behind->getIterator());
  }

private:
  bool isOpen(const Value *value) const { return inside_.contains(value) && !isPlaced_.contains(value); }

  // The instruction with all that it needs, depth first.
  void place(Instruction &last) {
    if (!isOpen(&last))
      return;
    SmallVector<std::pair<Instruction *, unsigned>> stack{{&last, 0}};
    while (!stack.empty()) {
      auto &[instruction, next] = stack.back();
      if (next == instruction->getNumOperands()) {
        Instruction *ready = instruction;
        stack.pop_back();
        if (isOpen(ready))
          put(ready);
        continue;
      }
      Value *operand = instruction->getOperand(next++);
      if (isOpen(operand))
        stack.push_back({cast<Instruction>(operand), 0});
    }
  }

  void put(Instruction *first) {
    SmallVector<Instruction *> ready{first};
    while (!ready.empty()) {
      Instruction *instruction = ready.pop_back_val();
      if (!isOpen(instruction))
        continue;
      placed_.push_back(instruction);
      isPlaced_.insert(instruction);
      SmallPtrSet<const Value *, 4> counted;
      for (Value *operand : instruction->operands())
        if (inside_.contains(operand) && counted.insert(operand).second && --left_[operand] == 1)
          addLastUser(cast<Instruction>(operand), ready);
      if (left_[instruction] == 1)
        addLastUser(instruction, ready);
    }
  }

  // The one computation that still needs the value ends its life, if it needs nothing else.
  void addLastUser(Instruction *value, SmallVectorImpl<Instruction *> &ready) {
    for (User *user : value->users()) {
      auto *last = dyn_cast<Instruction>(user);
      if (last && isOpen(last) && !startsStep(*last) &&
          none_of(last->operands(), [&](const Value *operand) { return isOpen(operand); }))
        ready.push_back(last);
    }
  }

  SmallPtrSet<const Value *, 32> inside_, isPlaced_;
  DenseMap<const Value *, unsigned> left_; // users that are not placed yet, and those outside
  SmallVector<Instruction *> placed_;
};

// Orders the first region of the block behind a place, and returns the place behind it.
BasicBlock::iterator orderNext(BasicBlock &block, BasicBlock::iterator from) {
  auto step = find_if(make_range(from, block.end()), startsStep);
  if (step == block.end())
    return step;
  BasicBlock::iterator begin = step, end = std::next(step);
  while (begin != from && isComputation(*std::prev(begin)))
    --begin;
  bool hasMore = false; // steps behind the first
  for (auto at = end; at != block.end() && (startsStep(*at) || isComputation(*at)); ++at)
    if (startsStep(*at)) {
      end = std::next(at);
      hasMore = true;
    }
  if (hasMore && size_t(std::distance(begin, end)) <= mostInstructions)
    Region(begin, end).order(begin, end);
  return end;
}

} // namespace

void orderProductSteps(Function &function) {
  for (BasicBlock &block : function)
    for (auto at = block.begin(); at != block.end();)
      at = orderNext(block, at);
}

} // namespace tegula::nvidia
