#include "codegen/llvm/ShareDividends.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Operator.h"
#include "llvm/IR/PatternMatch.h"

#include <map>

using namespace llvm::PatternMatch;

namespace tegula::codegen {

namespace {

constexpr unsigned mostSteps = 32;  // of one sum
constexpr unsigned mostOfOne = 256; // divisions by one number that are looked at

// A sum of values, each some times, and of a number; all modulo the values' width.
struct Sum {
  std::map<llvm::Value *, uint64_t> times;
  uint64_t number = 0;
  llvm::SmallVector<llvm::Instruction *, 8> steps; // that it was taken apart through

  auto operator<=>(const Sum &other) const {
    return std::tie(number, times) <=> std::tie(other.number, other.times);
  }
};

Sum sumOf(llvm::Value *value) {
  const uint64_t modulus = llvm::maskTrailingOnes<uint64_t>(value->getType()->getIntegerBitWidth());
  Sum sum;
  llvm::SmallVector<std::pair<llvm::Value *, uint64_t>, 8> waiting{{value, 1}};
  while (!waiting.empty()) {
    auto [part, times] = waiting.pop_back_val();
    llvm::Value *left, *right;
    const llvm::APInt *constant;
    bool isStep = sum.steps.size() < mostSteps;
    if (match(part, m_APInt(constant)))
      sum.number += times * constant->getZExtValue();
    else if (isStep && match(part, m_Freeze(m_Value(left))))
      waiting.push_back({left, times});
    else if (isStep && match(part, m_AddLike(m_Value(left), m_Value(right))))
      waiting.append({{left, times}, {right, times}});
    else if (isStep && match(part, m_Sub(m_Value(left), m_Value(right))))
      waiting.append({{left, times}, {right, -times}});
    else {
      sum.times[part] += times;
      continue;
    }
    if (auto *step = llvm::dyn_cast<llvm::Instruction>(part))
      sum.steps.push_back(step);
  }
  sum.number &= modulus;
  for (auto &[part, times] : sum.times)
    times &= modulus;
  std::erase_if(sum.times, [](const auto &entry) { return entry.second == 0; });
  return sum;
}

bool isDivided(const llvm::Instruction &each) {
  return each.isIntDivRem() && each.getType()->isIntegerTy() && each.getType()->getIntegerBitWidth() <= 64 &&
         !llvm::isa<llvm::Constant>(each.getOperand(1));
}

} // namespace

llvm::PreservedAnalyses ShareDividends::run(llvm::Function &function,
                                            llvm::FunctionAnalysisManager &analyses) {
  llvm::MapVector<llvm::Value *, llvm::SmallVector<llvm::Instruction *>> byDivisor;
  for (llvm::BasicBlock *block : llvm::ReversePostOrderTraversal<llvm::Function *>(&function))
    for (llvm::Instruction &each : *block)
      if (isDivided(each))
        byDivisor[each.getOperand(1)].push_back(&each);
  const llvm::DominatorTree *dominators = nullptr;
  llvm::SmallSetVector<llvm::Instruction *, 16> shared;
  for (auto &[divisor, divisions] : byDivisor) {
    if (divisions.size() < 2 || divisions.size() > mostOfOne)
      continue;
    if (!dominators)
      dominators = &analyses.getResult<llvm::DominatorTreeAnalysis>(function);
    std::map<Sum, llvm::Value *> known;
    for (llvm::Instruction *division : divisions) {
      llvm::Value *dividend = division->getOperand(0);
      Sum sum = sumOf(dividend);
      auto [first, isNew] = known.try_emplace(sum, dividend);
      if (isNew || first->second == dividend || !dominators->dominates(first->second, division))
        continue;
      division->setOperand(0, first->second);
      shared.insert_range(first->first.steps);
    }
  }
  if (shared.empty())
    return llvm::PreservedAnalyses::all();
  // That these steps do not overflow was known of the one order, and nobody said it of the other.
  for (llvm::Instruction *step : shared)
    if (llvm::isa<llvm::OverflowingBinaryOperator>(step)) {
      step->setHasNoSignedWrap(false);
      step->setHasNoUnsignedWrap(false);
    }
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

} // namespace tegula::codegen
