#include "codegen/llvm/JoinIfs.h"

#include "llvm/IR/CFG.h"
#include "llvm/IR/Instructions.h"

namespace tegula::codegen {

namespace {

// `head` branches to `then` if its condition is `sense`, else to `end`, where `then` goes, too; no other
// block goes to either of the two.
struct If {
  llvm::BranchInst *head = nullptr;
  llvm::BasicBlock *then = nullptr, *end = nullptr;
  bool sense = true;
};

llvm::BranchInst *branchOf(llvm::BasicBlock *block, bool isConditional) {
  auto *branch = llvm::dyn_cast_or_null<llvm::BranchInst>(block->getTerminator());
  return branch && branch->isConditional() == isConditional ? branch : nullptr;
}

If ifAt(llvm::BasicBlock *block) {
  llvm::BranchInst *head = branchOf(block, /*isConditional=*/true);
  if (!head)
    return {};
  for (unsigned side : {0u, 1u}) {
    llvm::BasicBlock *then = head->getSuccessor(side), *end = head->getSuccessor(1 - side);
    llvm::BranchInst *last = branchOf(then, /*isConditional=*/false);
    if (then != block && then != end && end != block && then->getSinglePredecessor() == block && last &&
        last->getSuccessor(0) == end && end->hasNPredecessors(2))
      return {head, then, end, side == 0};
  }
  return {};
}

// The next `if` of the row: all of `end` is a branch on the same value, with the same side.
If nextOf(const If &row) {
  If next = ifAt(row.end);
  if (!next.head || &row.end->front() != next.head || next.sense != row.sense ||
      next.head->getCondition() != row.head->getCondition())
    return {};
  return next;
}

} // namespace

llvm::PreservedAnalyses JoinIfs::run(llvm::Function &function, llvm::FunctionAnalysisManager &) {
  bool isChanged = false;
  llvm::SmallVector<llvm::BasicBlock *> empty;
  for (llvm::BasicBlock &block : function) {
    If row = ifAt(&block);
    for (If next = row.head ? nextOf(row) : If{}; next.head; next = nextOf(row)) {
      branchOf(row.then, /*isConditional=*/false)->setSuccessor(0, next.then);
      row.head->setSuccessor(row.sense ? 1 : 0, next.end);
      next.then->replacePhiUsesWith(row.end, row.then);
      next.end->replacePhiUsesWith(row.end, &block);
      empty.push_back(row.end);
      next.head->eraseFromParent(); // so that `end` is no predecessor any more
      row.then = next.then, row.end = next.end;
      isChanged = true;
    }
  }
  for (llvm::BasicBlock *each : empty)
    each->eraseFromParent();
  return isChanged ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

} // namespace tegula::codegen
