#include "codegen/llvm/MergeEqual.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/Analysis/InstructionSimplify.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/Local.h"

namespace tegula::codegen {

namespace {

// Operations as keys: equal where they compute the same of the same operands.
struct SameValue : llvm::DenseMapInfo<llvm::Instruction *> {
  using Keys = llvm::DenseMapInfo<llvm::Instruction *>;
  static unsigned getHashValue(const llvm::Instruction *each) {
    return unsigned(
        llvm::hash_combine(each->getOpcode(), each->getType(),
                           llvm::hash_combine_range(each->value_op_begin(), each->value_op_end())));
  }
  static bool isEqual(const llvm::Instruction *left, const llvm::Instruction *right) {
    auto isMarker = [](const llvm::Instruction *key) {
      return key == Keys::getEmptyKey() || key == Keys::getTombstoneKey();
    };
    if (isMarker(left) || isMarker(right))
      return left == right;
    return left->isIdenticalToWhenDefined(right);
  }
};

// Does the operation give the same value wherever it is computed? A `freeze` may choose another each time.
bool isValueOfOperands(const llvm::Instruction &each) {
  if (auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&each))
    return call->doesNotAccessMemory() && call->willReturn() && !call->isConvergent() &&
           !call->getType()->isVoidTy() && !call->getType()->isTokenTy();
  return llvm::isa<llvm::UnaryOperator, llvm::BinaryOperator, llvm::CastInst, llvm::CmpInst, llvm::SelectInst,
                   llvm::GetElementPtrInst, llvm::ExtractElementInst, llvm::InsertElementInst,
                   llvm::ShuffleVectorInst, llvm::ExtractValueInst, llvm::InsertValueInst>(each);
}

// Is the operation an address that loads and stores compute by themselves? Merged with one of another block,
// it would live across all blocks between them, for each of which register allocation takes time.
bool isPartOfAnAccess(const llvm::Instruction &each) {
  auto *address = llvm::dyn_cast<llvm::GetElementPtrInst>(&each);
  return address && address->hasAllConstantIndices();
}

} // namespace

llvm::PreservedAnalyses MergeEqual::run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses) {
  auto &tree = analyses.getResult<llvm::DominatorTreeAnalysis>(function);
  tree.updateDFSNumbers(); // so that a question takes the same time, however far apart two blocks are
  llvm::DenseMap<llvm::Instruction *, llvm::Instruction *, SameValue> known;
  llvm::SimplifyQuery alone(function.getDataLayout()); // asks about operands only, about no branch
  llvm::ReversePostOrderTraversal<llvm::Function *> blocks(&function);
  for (llvm::BasicBlock *block : blocks)
    for (llvm::Instruction &each : llvm::make_early_inc_range(*block)) {
      if (llvm::isInstructionTriviallyDead(&each)) {
        each.eraseFromParent();
        continue;
      }
      if (!isValueOfOperands(each))
        continue;
      if (llvm::Value *simple = llvm::simplifyInstruction(&each, alone)) {
        each.replaceAllUsesWith(simple);
        each.eraseFromParent();
        continue;
      }
      auto [entry, isNew] = known.try_emplace(&each, &each);
      if (isNew)
        continue;
      llvm::Instruction *earlier = entry->second;
      if (!tree.dominates(earlier->getParent(), block) ||
          (earlier->getParent() != block && isPartOfAnAccess(each))) {
        known.erase(entry); // the key, too, is the one that is nearer from here on
        known.try_emplace(&each, &each);
        continue;
      }
      earlier->andIRFlags(&each);
      llvm::combineMetadataForCSE(earlier, &each, /*DoesKMove=*/false);
      each.replaceAllUsesWith(earlier);
      each.eraseFromParent();
    }
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

} // namespace tegula::codegen
