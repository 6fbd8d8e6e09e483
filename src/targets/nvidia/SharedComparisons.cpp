#include "targets/nvidia/SharedComparisons.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/PatternMatch.h"

#include <map>

using namespace llvm;
using namespace llvm::PatternMatch;

namespace tegula::nvidia {

namespace {

constexpr size_t fewest = 4; // the difference takes up to six instructions
constexpr size_t mostSummands = 8;

// The bits of a sum that a comparison sees.
enum class Extension : uint8_t { None, Sign, Zero };

// extension(summands + constant), modulo two to the summands' width.
struct Sum {
  Extension extension = Extension::None;
  SmallVector<Value *> summands; // in the order in which they stand
  APInt constant;
};

std::optional<Sum> sumOf(Value *value) {
  Sum sum;
  Value *inner = nullptr;
  if (match(value, m_SExt(m_Value(inner))) || match(value, m_NNegZExt(m_Value(inner))))
    sum.extension = Extension::Sign;
  else if (match(value, m_ZExt(m_Value(inner))))
    sum.extension = Extension::Zero;
  else
    inner = value;
  unsigned bits = value->getType()->isIntegerTy() ? inner->getType()->getIntegerBitWidth() : 0;
  if (bits != 32 && !(bits == 64 && inner == value))
    return std::nullopt;
  sum.constant = APInt::getZero(bits);
  SmallVector<Value *> work{inner};
  while (!work.empty()) {
    Value *each = work.pop_back_val(), *a = nullptr, *b = nullptr;
    const APInt *constant = nullptr;
    if (match(each, m_APInt(constant))) {
      sum.constant += *constant;
    } else if (match(each, m_AddLike(m_Value(a), m_Value(b))) && sum.summands.size() < mostSummands) {
      work.push_back(b);
      work.push_back(a);
    } else {
      sum.summands.push_back(each);
    }
  }
  return sum;
}

struct Comparison {
  ICmpInst *op;
  APInt constant;
};

// Comparisons of one number with sums that differ in their constant.
struct Group {
  Value *number;
  Extension extension;
  SmallVector<Value *> summands;
  SmallVector<Comparison> members;
};

// number - summands - least as 32 bits, if it is one of 0 to span, and else none of these.
Value *differenceOf(IRBuilder<> &builder, const Group &group, const APInt &least, uint64_t span) {
  Value *number = group.number, *fits = nullptr;
  Type *word = builder.getInt32Ty(), *type = group.summands.front()->getType();
  if (group.extension != Extension::None) {
    Value *low = builder.CreateTrunc(number, word);
    fits =
        builder.CreateICmpEQ(group.extension == Extension::Sign ? builder.CreateSExt(low, number->getType())
                                                                : builder.CreateZExt(low, number->getType()),
                             number);
    number = low;
  }
  Value *sum = nullptr;
  for (Value *each : group.summands)
    sum = sum ? builder.CreateAdd(sum, each) : each;
  if (!least.isZero())
    sum = builder.CreateAdd(sum, ConstantInt::get(type, least));
  Value *difference = builder.CreateSub(number, sum);
  if (type != word) {
    fits = builder.CreateICmpULE(difference, ConstantInt::get(type, span));
    difference = builder.CreateTrunc(difference, word);
  }
  // A difference that changes by the same in each trip would be taken apart again.
  return fits ? builder.CreateSelect(fits, difference, ConstantInt::getAllOnesValue(word))
              : builder.CreateFreeze(difference);
}

// The block's comparisons that may share a difference, each with either side as the number.
std::vector<Group> groupsOf(BasicBlock &block) {
  using Key = std::pair<std::pair<unsigned, Extension>, std::vector<unsigned>>;
  DenseMap<Value *, unsigned> numbers; // of values, as they come
  auto numberOf = [&](Value *value) { return numbers.try_emplace(value, numbers.size()).first->second; };
  std::map<Key, size_t> places;
  std::vector<Group> groups;
  for (Instruction &each : block) {
    auto *op = dyn_cast<ICmpInst>(&each);
    if (!op || !op->isEquality() || !op->getOperand(0)->getType()->isIntegerTy())
      continue;
    for (unsigned side : {0u, 1u}) {
      Value *number = op->getOperand(1 - side);
      std::optional<Sum> sum = isa<Constant>(number) ? std::nullopt : sumOf(op->getOperand(side));
      if (!sum || sum->summands.empty())
        continue;
      // Of 32 bits, of one trip, each side may be shared with other comparisons as it is.
      auto *computed = dyn_cast<Instruction>(number);
      if (number->getType()->isIntegerTy(32) && computed && computed->getParent() == &block)
        continue;
      Key key{{numberOf(number), sum->extension}, {}};
      for (Value *summand : sum->summands)
        key.second.push_back(numberOf(summand));
      llvm::sort(key.second);
      auto [place, isNew] = places.try_emplace(key, groups.size());
      if (isNew)
        groups.push_back({number, sum->extension, sum->summands, {}});
      groups[place->second].members.push_back({op, sum->constant});
    }
  }
  return groups;
}

} // namespace

void shareComparisons(Function &function) {
  for (BasicBlock &block : function) {
    DenseSet<ICmpInst *> done;
    for (Group &group : groupsOf(block)) {
      llvm::erase_if(group.members, [&](const Comparison &each) { return done.contains(each.op); });
      if (group.members.size() < fewest)
        continue;
      auto isLess = [](const Comparison &a, const Comparison &b) { return a.constant.slt(b.constant); };
      auto [first, last] = std::minmax_element(group.members.begin(), group.members.end(), isLess);
      const APInt least = first->constant, span = last->constant - least;
      if (span.uge(std::numeric_limits<int32_t>::max()))
        continue;
      IRBuilder<> builder(group.members.front().op);
      Value *difference = differenceOf(builder, group, least, span.getZExtValue());
      for (auto &[op, constant] : group.members) {
        builder.SetInsertPoint(op);
        Value *place = builder.getInt32(uint32_t((constant - least).getZExtValue()));
        op->replaceAllUsesWith(builder.CreateICmp(op->getPredicate(), difference, place));
        done.insert(op);
      }
    }
    for (ICmpInst *op : done)
      op->eraseFromParent();
  }
}

} // namespace tegula::nvidia
