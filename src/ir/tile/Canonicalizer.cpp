#include "ir/tile/Canonicalizer.h"

#include "ir/tile/Bounds.h"
#include "ir/tile/CarriedValues.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace tegula::tile {
namespace {

constexpr int mostRounds = 10; // as of MLIR's canonicalizer

// By the ends of their names. The first three are `simplifyCarriedValues`. The last one moves a branch out of
// the condition of a `while`; where the condition hands on one of its results twice, the second becomes the
// value of the other side (repaired in LLVM 24, llvm-project issue 219456).
constexpr StringLiteral leftOut[] = {"::MakeRegionBranchOpSuccessorInputsDead",
                                     "::RemoveDuplicateSuccessorInputUses",
                                     "::RemoveDeadRegionBranchOpSuccessorInputs", "::WhileMoveIfDown"};

// Left out where very many ifs have one condition: one joins them two by two, and each time makes a new `if`
// with the results of both; the other looks, for each `if`, at all uses of its condition.
constexpr StringLiteral leftOutOfMany[] = {"::CombineIfs", "::ConditionPropagation"};

bool hasManyOfOneCondition(Operation *root) {
  llvm::DenseMap<Value, size_t> ifs;
  size_t most = 0;
  root->walk([&](scf::IfOp op) { most = std::max(most, ++ifs[op.getCondition()]); });
  return most > bounds.mostOfOneCondition;
}

FrozenRewritePatternSet patternsOf(Operation *root) {
  MLIRContext *context = root->getContext();
  RewritePatternSet patterns(context);
  for (Dialect *dialect : context->getLoadedDialects())
    dialect->getCanonicalizationPatterns(patterns);
  for (RegisteredOperationName name : context->getRegisteredOperations())
    name.getCanonicalizationPatterns(patterns, context);
  bool many = hasManyOfOneCondition(root);
  llvm::erase_if(patterns.getNativePatterns(), [&](const std::unique_ptr<RewritePattern> &pattern) {
    auto isPattern = [&](StringRef name) { return pattern->getDebugName().ends_with(name); };
    return llvm::any_of(leftOut, isPattern) || (many && llvm::any_of(leftOutOfMany, isPattern));
  });
  return patterns;
}

} // namespace

void canonicalize(Operation *root) {
  FrozenRewritePatternSet patterns = patternsOf(root);
  GreedyRewriteConfig config;
  config.setUseTopDownTraversal().setRegionSimplificationLevel(GreedySimplifyRegionLevel::Normal);
  for (int round = 0; round < mostRounds; ++round) {
    (void)applyPatternsGreedily(root, patterns, config); // where it stops early, what is left is right, too
    if (!simplifyCarriedValues(root))
      return;
  }
}

} // namespace tegula::tile
