#include "codegen/llvm/NarrowQuotients.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/Analysis/LazyValueInfo.h"
#include "llvm/IR/ConstantRange.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm::PatternMatch;

namespace tegula::codegen {

namespace {

constexpr unsigned narrowBits = 32, wideBits = 64;

class Narrower {
public:
  explicit Narrower(llvm::LazyValueInfo &ranges) : ranges_(ranges) {}

  bool run(llvm::Function &function) {
    bool changed = false;
    for (llvm::BasicBlock *block : llvm::ReversePostOrderTraversal<llvm::Function *>(&function))
      for (llvm::Instruction &each : llvm::make_early_inc_range(*block))
        changed |= visit(each);
    return changed;
  }

private:
  // A value that is replaced stays until it is dropped as dead code: `ranges_` may know it.
  bool visit(llvm::Instruction &each) {
    llvm::Value *wide, *narrow;
    if (match(&each, m_SExt(m_Value(narrow))) && match(narrow, m_SDiv(m_Value(), m_Value())) &&
        isWide(&each) && narrow->getType()->isIntegerTy(narrowBits)) {
      narrow_[&each] = narrow;
      return false;
    }
    if (match(&each, m_Trunc(m_Value(wide))) && each.getType()->isIntegerTy(narrowBits)) {
      auto found = narrow_.find(wide);
      if (found == narrow_.end())
        return false;
      each.replaceAllUsesWith(found->second);
      return true;
    }
    if (!isWide(&each))
      return false;
    llvm::IRBuilder<> builder(&each);
    llvm::Value *result = nullptr;
    if (auto *choice = llvm::dyn_cast<llvm::SelectInst>(&each))
      result = chosen(builder, *choice);
    else
      result = remainder(builder, each);
    if (!result)
      return false;
    wide = builder.CreateSExt(result, each.getType());
    narrow_[wide] = result;
    each.replaceAllUsesWith(wide);
    return true;
  }

  static bool isWide(const llvm::Value *value) { return value->getType()->isIntegerTy(wideBits); }

  // Do 32 bits hold the value, and, if `negated`, what is below zero as far?
  bool fits(llvm::Value *value, llvm::Instruction &at, bool negated = false) {
    llvm::ConstantRange range = ranges_.getConstantRange(value, &at, /*UndefAllowed=*/false);
    llvm::APInt least = llvm::APInt::getSignedMinValue(narrowBits).sext(wideBits),
                most = llvm::APInt::getSignedMaxValue(narrowBits).sext(wideBits);
    return range.getSignedMin().sge(negated ? least + 1 : least) && range.getSignedMax().sle(most);
  }

  llvm::Value *truncated(llvm::IRBuilder<> &builder, llvm::Value *value) {
    if (auto found = narrow_.find(value); found != narrow_.end())
      return found->second;
    llvm::Value *narrow;
    if (match(value, m_SExt(m_Value(narrow))) && narrow->getType()->isIntegerTy(narrowBits))
      return narrow;
    return builder.CreateTrunc(value, builder.getIntNTy(narrowBits));
  }

  llvm::Value *chosen(llvm::IRBuilder<> &builder, llvm::SelectInst &choice) {
    llvm::Value *arms[] = {choice.getTrueValue(), choice.getFalseValue()};
    if (!narrow_.contains(arms[0]) && !narrow_.contains(arms[1]))
      return nullptr;
    for (llvm::Value *&arm : arms) {
      llvm::Value *negated;
      auto *constant = llvm::dyn_cast<llvm::ConstantInt>(arm);
      if (constant && constant->getValue().isSignedIntN(narrowBits))
        arm = builder.getInt(constant->getValue().trunc(narrowBits));
      else if (narrow_.contains(arm))
        arm = narrow_.at(arm);
      else if (match(arm, m_Neg(m_Value(negated))) && fits(negated, choice, true))
        arm = builder.CreateNeg(truncated(builder, negated));
      else
        return nullptr;
    }
    return builder.CreateSelect(choice.getCondition(), arms[0], arms[1]);
  }

  // x - x / y * y
  llvm::Value *remainder(llvm::IRBuilder<> &builder, llvm::Instruction &difference) {
    llvm::Value *dividend, *quotient, *divisor;
    if (!match(&difference, m_Sub(m_Value(dividend), m_c_Mul(m_Value(quotient), m_Value(divisor)))))
      return nullptr;
    if (!narrow_.contains(quotient))
      std::swap(quotient, divisor);
    auto found = narrow_.find(quotient);
    llvm::Value *first, *second;
    if (found == narrow_.end() || !match(found->second, m_SDiv(m_Value(first), m_Value(second))) ||
        !isNarrowOf(first, dividend) || !isNarrowOf(second, divisor) || !fits(dividend, difference) ||
        !fits(divisor, difference))
      return nullptr;
    return builder.CreateSub(first, builder.CreateMul(found->second, second));
  }

  bool isNarrowOf(llvm::Value *narrow, llvm::Value *wide) const {
    return match(narrow, m_Trunc(m_Specific(wide))) || match(wide, m_SExt(m_Specific(narrow))) ||
           narrow_.lookup(wide) == narrow;
  }

  llvm::LazyValueInfo &ranges_;
  llvm::DenseMap<llvm::Value *, llvm::Value *> narrow_; // quotients and what is chosen of them, by 64 bits
};

} // namespace

llvm::PreservedAnalyses ThawDividends::run(llvm::Function &function, llvm::FunctionAnalysisManager &) {
  bool changed = false;
  for (llvm::Instruction &each : llvm::instructions(function)) {
    llvm::Value *dividend;
    if (!match(&each, m_IRem(m_Freeze(m_Value(dividend)), m_Value())))
      continue;
    each.setOperand(0, dividend);
    changed = true;
  }
  if (!changed)
    return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

llvm::PreservedAnalyses NarrowQuotients::run(llvm::Function &function,
                                             llvm::FunctionAnalysisManager &analyses) {
  bool changed = Narrower(analyses.getResult<llvm::LazyValueAnalysis>(function)).run(function);
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

} // namespace tegula::codegen
