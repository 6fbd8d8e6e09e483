#include "codegen/llvm/SinkIntoBranches.h"

#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/IR/Instructions.h"

namespace tegula::codegen {

namespace {

// A number or an address. Conditions stay: of a choice between several that are computed beside it the code
// generator makes one choice for each.
bool isAddressStep(const llvm::Instruction &instruction) {
  return llvm::isa<llvm::GetElementPtrInst>(instruction) ||
         (instruction.getType()->isIntegerTy() && !instruction.getType()->isIntegerTy(1) &&
          llvm::isa<llvm::BinaryOperator, llvm::CastInst>(instruction) &&
          !instruction.getOperand(0)->getType()->isFPOrFPVectorTy() && !instruction.isIntDivRem());
}

bool isUsedOnlyIn(const llvm::BasicBlock &block, const llvm::Instruction &instruction) {
  return !instruction.use_empty() && llvm::all_of(instruction.users(), [&](const llvm::User *user) {
    auto *use = llvm::cast<llvm::Instruction>(user);
    return use->getParent() == &block && !llvm::isa<llvm::PHINode>(use);
  });
}

} // namespace

llvm::PreservedAnalyses SinkIntoBranches::run(llvm::Function &function, llvm::FunctionAnalysisManager &) {
  bool isChanged = false;
  return llvm::PreservedAnalyses::all();
  // Blocks behind others first, the last instruction first: what they are made of may follow.
  for (llvm::BasicBlock *block : llvm::post_order(&function)) {
    llvm::BasicBlock *before = block->getSinglePredecessor();
    if (!before || before->getSingleSuccessor())
      continue;
    for (llvm::Instruction &each : llvm::make_early_inc_range(llvm::reverse(*before)))
      if (isAddressStep(each) && isUsedOnlyIn(*block, each)) {
        each.moveBefore(block->getFirstInsertionPt());
        isChanged = true;
      }
  }
  if (!isChanged)
    return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

} // namespace tegula::codegen
