#include "targets/nvidia/SignedZeros.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;

namespace tegula::nvidia {

namespace {

bool isStrict(CmpInst::Predicate predicate) {
  return predicate == CmpInst::FCMP_OLT || predicate == CmpInst::FCMP_OGT || predicate == CmpInst::FCMP_ULT ||
         predicate == CmpInst::FCMP_UGT;
}

// Of two zeros the choice is `chosen`: the machine's maximum is, if that is +0, and its minimum, if that is
// -0.
bool isMachines(bool isMaximum, Value *chosen) {
  using namespace PatternMatch;
  return match(chosen, m_NonZeroFP()) ||
         (isMaximum ? match(chosen, m_PosZeroFP()) : match(chosen, m_NegZeroFP()));
}

} // namespace

void keepSignsOfZeros(Function &function) {
  for (Instruction &each : instructions(function)) {
    auto *choice = dyn_cast<SelectInst>(&each);
    auto *compare = choice ? dyn_cast<FCmpInst>(choice->getCondition()) : nullptr;
    if (!compare || !isStrict(compare->getPredicate()))
      continue;
    Value *a = compare->getOperand(0), *b = compare->getOperand(1);
    Value *yes = choice->getTrueValue(), *no = choice->getFalseValue();
    bool isLess =
        compare->getPredicate() == CmpInst::FCMP_OLT || compare->getPredicate() == CmpInst::FCMP_ULT;
    bool isSame = yes == a && no == b, isOther = yes == b && no == a;
    if ((!isSame && !isOther) || isMachines(isLess == isOther, no))
      continue;
    IRBuilder<> builder(choice);
    choice->setCondition(builder.CreateFCmp(compare->getInversePredicate(), a, b));
    choice->setTrueValue(no);
    choice->setFalseValue(yes);
  }
}

} // namespace tegula::nvidia
