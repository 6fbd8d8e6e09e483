#include "codegen/llvm/ConstantsLast.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/IR/ValueHandle.h"

#include <map>

using namespace llvm::PatternMatch;

namespace tegula::codegen {

namespace {

// `source`, widened as `widening` says (null: not at all), plus `constant` in the type of the sum.
struct Part {
  llvm::Value *source = nullptr;
  llvm::CastInst *widening = nullptr;
  llvm::APInt constant;
};

// A sum of two values; null: it is none. An `or` of values without a common bit is one.
llvm::BinaryOperator *sumOf(llvm::Value *value) {
  auto *op = llvm::dyn_cast<llvm::BinaryOperator>(value);
  if (!op || !op->getType()->isIntegerTy())
    return nullptr;
  auto *bits = llvm::dyn_cast<llvm::PossiblyDisjointInst>(op);
  return op->getOpcode() == llvm::Instruction::Add || (bits && bits->isDisjoint()) ? op : nullptr;
}

// Takes constants off a value: of a sum, and of one behind an extension that does not wrap before it.
Part partOf(llvm::Value *value) {
  unsigned bits = value->getType()->getIntegerBitWidth();
  Part part{value, nullptr, llvm::APInt(bits, 0)};
  const llvm::APInt *constant = nullptr;
  if (llvm::BinaryOperator *sum = sumOf(value); sum && match(sum->getOperand(1), m_APInt(constant))) {
    part.source = sum->getOperand(0);
    part.constant += *constant;
  }
  auto *widening = llvm::dyn_cast<llvm::CastInst>(part.source);
  bool isZero = widening && llvm::isa<llvm::ZExtInst>(widening);
  if (!widening || (!isZero && !llvm::isa<llvm::SExtInst>(widening)))
    return part;
  part.widening = widening;
  part.source = widening->getOperand(0);
  llvm::BinaryOperator *sum = sumOf(part.source);
  if (!sum || !match(sum->getOperand(1), m_APInt(constant)))
    return part;
  // The parts of an `or` have no bit in common: of two that are extended by signs, one is not below zero.
  bool isDisjoint = sum->getOpcode() == llvm::Instruction::Or;
  if (!isDisjoint && !(isZero ? sum->hasNoUnsignedWrap() : sum->hasNoSignedWrap()))
    return part;
  part.source = sum->getOperand(0);
  part.constant += isZero ? constant->zext(bits) : constant->sext(bits);
  return part;
}

// The sums of a block that are alike but for their constants. What they are made of may be sums that are
// rewritten first.
struct Alike {
  llvm::WeakTrackingVH changing, kept;
  llvm::CastInst *widening; // of `kept`, in the first sum
  llvm::SmallVector<std::pair<llvm::BinaryOperator *, llvm::APInt>> sums;
};

class Block {
public:
  Block(llvm::BasicBlock &block, const llvm::Loop *loop) : block_(block), loop_(loop) {}

  bool run() {
    for (llvm::Instruction &each : block_)
      if (llvm::BinaryOperator *sum = sumOf(&each); sum && sum->getType()->isIntegerTy(64))
        collect(sum);
    bool isChanged = false;
    for (auto &[key, alike] : alikes_)
      if (alike.sums.size() > 1) {
        rewrite(alike);
        isChanged = true;
      }
    return isChanged;
  }

private:
  void collect(llvm::BinaryOperator *sum) {
    for (unsigned side : {0u, 1u}) {
      llvm::Value *changing = sum->getOperand(side), *kept = sum->getOperand(1 - side);
      if (llvm::isa<llvm::Constant>(kept) ||
          (loop_ && (loop_->isLoopInvariant(changing) || !loop_->isLoopInvariant(kept))))
        continue;
      Part part = partOf(kept);
      if (!loop_ && !part.widening)
        continue;
      auto key = std::tuple(changing, part.source, part.widening ? part.widening->getOpcode() : 0u);
      Alike &alike = alikes_.try_emplace(key, Alike{changing, part.source, part.widening, {}}).first->second;
      alike.sums.push_back({sum, part.constant});
      return;
    }
  }

  // `common` + constant in the place of the sum, and of products of it by constants.
  void replace(llvm::BinaryOperator *sum, llvm::Value *common, const llvm::APInt &constant) {
    llvm::IRBuilder<> builder(sum);
    for (llvm::User *user : llvm::make_early_inc_range(sum->users())) {
      auto *product = llvm::dyn_cast<llvm::BinaryOperator>(user);
      const llvm::APInt *factor = nullptr;
      bool isShift = product && match(product, m_Shl(m_Specific(sum), m_APInt(factor)));
      if (!isShift && !(product && match(product, m_Mul(m_Specific(sum), m_APInt(factor)))))
        continue;
      llvm::Value *&shared = products_[{common, product->getOperand(1), product->getOpcode()}];
      if (!shared) {
        builder.SetInsertPoint(llvm::cast<llvm::Instruction>(common)->getNextNode());
        shared = builder.CreateBinOp(product->getOpcode(), common, product->getOperand(1));
      }
      builder.SetInsertPoint(product);
      llvm::APInt distance = isShift ? constant.shl(*factor) : constant * *factor;
      product->replaceAllUsesWith(builder.CreateAdd(shared, builder.getInt(distance)));
      product->eraseFromParent();
    }
    builder.SetInsertPoint(sum);
    sum->replaceAllUsesWith(builder.CreateAdd(common, builder.getInt(constant)));
    sum->eraseFromParent();
  }

  void rewrite(Alike &alike) {
    llvm::BinaryOperator *first = alike.sums.front().first;
    llvm::Value *kept = alike.kept;
    if (llvm::CastInst *widening = alike.widening)
      kept =
          llvm::CastInst::Create(widening->getOpcode(), kept, first->getType(), "", widening->getIterator());
    // No flags: whether the common sum wraps, nobody says.
    llvm::Value *common = llvm::BinaryOperator::CreateAdd(alike.changing, kept, "", first->getIterator());
    for (auto &[sum, constant] : alike.sums)
      replace(sum, common, constant);
  }

  llvm::BasicBlock &block_;
  const llvm::Loop *loop_; // null: the block is in none
  llvm::MapVector<std::tuple<llvm::Value *, llvm::Value *, unsigned>, Alike,
                  std::map<std::tuple<llvm::Value *, llvm::Value *, unsigned>, unsigned>>
      alikes_;
  std::map<std::tuple<llvm::Value *, llvm::Value *, unsigned>, llvm::Value *> products_;
};

// A union of bits of two values of 32 bits that have none in common; null: it is none.
llvm::BinaryOperator *unionOf(llvm::Value *value) {
  llvm::BinaryOperator *sum = sumOf(value);
  return sum && sum->getOpcode() == llvm::Instruction::Or && sum->getType()->isIntegerTy(32) ? sum : nullptr;
}

// Is it extended, and not to be compared, which the assembler does better with what was extended?
bool isExtension(const llvm::User *user) {
  return llvm::isa<llvm::SExtInst, llvm::ZExtInst>(user) &&
         llvm::none_of(user->users(),
                       [](const llvm::User *other) { return llvm::isa<llvm::CmpInst>(other); });
}

// The unions of a function that are alike but for their constants. Bits are shifted and extended each by
// itself: what has none in common still has none behind it, and nothing wraps.
class Unions {
public:
  explicit Unions(const llvm::LoopInfo &loops) : loops_(loops) {}

  bool run(llvm::Function &function) {
    for (llvm::BasicBlock &block : function)
      for (llvm::Instruction &each : block)
        if (llvm::BinaryOperator *sum = unionOf(&each))
          collect(sum);
    bool isChanged = false;
    for (auto &[key, members] : alikes_)
      if (llvm::count_if(members, [](const Member &member) { return isIndex(member.sum); }) > 1) {
        rewrite(members);
        isChanged = true;
      }
    return isChanged;
  }

private:
  // `changing | kept | constant`; `changing` is null where there are two parts.
  struct Member {
    llvm::BinaryOperator *sum;
    llvm::WeakTrackingVH changing, kept;
    llvm::APInt constant;
  };
  using Key = std::tuple<llvm::Value *, llvm::Value *, llvm::BasicBlock *>;

  static bool isShift(llvm::User *user, const llvm::Value *shifted) {
    return match(user, m_Shl(m_Specific(shifted), m_ConstantInt()));
  }

  // Is it extended, as it is or shifted, as an index of memory is?
  static bool isIndex(llvm::Value *value) {
    return llvm::any_of(value->users(), [&](llvm::User *user) {
      return isExtension(user) || (isShift(user, value) && llvm::any_of(user->users(), isExtension));
    });
  }

  void collect(llvm::BinaryOperator *sum) {
    const llvm::APInt *constant = nullptr;
    if (match(sum->getOperand(1), m_APInt(constant))) {
      alikes_[Key(nullptr, sum->getOperand(0), nullptr)].push_back(
          {sum, nullptr, sum->getOperand(0), *constant});
      return;
    }
    const llvm::Loop *loop = loops_.getLoopFor(sum->getParent());
    for (unsigned side : {0u, 1u}) {
      llvm::Value *changing = sum->getOperand(side), *kept = sum->getOperand(1 - side);
      if (!loop || loop->isLoopInvariant(changing) || !loop->isLoopInvariant(kept))
        continue;
      llvm::APInt rest(32, 0);
      if (llvm::BinaryOperator *parts = unionOf(kept);
          parts && match(parts->getOperand(1), m_APInt(constant))) {
        kept = parts->getOperand(0);
        rest = *constant;
      }
      alikes_[Key(changing, kept, sum->getParent())].push_back({sum, changing, kept, rest});
      return;
    }
  }

  void rewrite(llvm::ArrayRef<Member> members) {
    const Member &first = members.front();
    llvm::Value *common = first.kept;
    if (first.changing)
      common = joined(first.changing, common, first.sum);
    shared_.clear();
    for (const Member &member : members)
      replace(member.sum, common, member.constant);
  }

  // `common | constant` in the place of the value, and so of what it is shifted by constants, and extended.
  void replace(llvm::Instruction *value, llvm::Value *common, const llvm::APInt &constant) {
    for (llvm::User *user : llvm::make_early_inc_range(value->users())) {
      const llvm::APInt *count = nullptr;
      auto *op = llvm::cast<llvm::Instruction>(user);
      if (match(op, m_Shl(m_Specific(value), m_APInt(count))))
        replace(op, sharedOf(op, common), constant.shl(*count));
      else if (isExtension(op))
        finish(op, sharedOf(op, common),
               llvm::isa<llvm::SExtInst>(op) ? constant.sext(op->getType()->getIntegerBitWidth())
                                             : constant.zext(op->getType()->getIntegerBitWidth()));
    }
    finish(value, common, constant);
  }

  // The same op of `common`, once for all members.
  llvm::Instruction *sharedOf(llvm::Instruction *op, llvm::Value *common) {
    llvm::Value *count = isExtension(op) ? nullptr : op->getOperand(1);
    llvm::Instruction *&shared = shared_[{common, op->getOpcode(), op->getType(), count}];
    if (!shared) {
      shared = op->clone();
      shared->dropPoisonGeneratingFlags();
      shared->setOperand(0, common);
      auto *defined = llvm::dyn_cast<llvm::Instruction>(common);
      shared->insertBefore(defined ? *defined->getInsertionPointAfterDef()
                                   : op->getFunction()->getEntryBlock().getFirstInsertionPt());
    }
    return shared;
  }

  static void finish(llvm::Instruction *op, llvm::Value *common, const llvm::APInt &constant) {
    op->replaceAllUsesWith(joined(common, llvm::ConstantInt::get(op->getType(), constant), op));
    op->eraseFromParent();
  }

  static llvm::Value *joined(llvm::Value *a, llvm::Value *b, llvm::Instruction *before) {
    if (match(b, m_Zero()))
      return a;
    return llvm::IRBuilder<>(before).CreateOr(a, b, "", /*IsDisjoint=*/true);
  }

  const llvm::LoopInfo &loops_;
  llvm::MapVector<Key, llvm::SmallVector<Member>, std::map<Key, unsigned>> alikes_;
  std::map<std::tuple<llvm::Value *, unsigned, llvm::Type *, llvm::Value *>, llvm::Instruction *> shared_;
};

} // namespace

llvm::PreservedAnalyses ConstantsLast::run(llvm::Function &function,
                                           llvm::FunctionAnalysisManager &analyses) {
  auto &loops = analyses.getResult<llvm::LoopAnalysis>(function);
  bool isChanged = Unions(loops).run(function);
  for (llvm::BasicBlock &block : function)
    isChanged |= Block(block, loops.getLoopFor(&block)).run();
  return isChanged ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

} // namespace tegula::codegen
