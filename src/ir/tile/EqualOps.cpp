#include "ir/tile/EqualOps.h"

#include "ir/tile/Bounds.h"

#include "mlir/IR/OperationSupport.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/ScopedHashTable.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace tegula::tile {
namespace {

// Of what regions hold: ops, and values from outside that they take, in any order, since equal ops may swap
// operands. Without it all ifs on one condition would have one hash, and each would be compared with all
// before it.
llvm::hash_code hashOfRegions(Operation *op) {
  llvm::SmallPtrSet<Operation *, 32> inside{op};
  llvm::hash_code hash = 0;
  for (Region &region : op->getRegions())
    region.walk<WalkOrder::PreOrder>([&](Operation *inner) {
      inside.insert(inner);
      size_t outer = 0;
      for (Value operand : inner->getOperands())
        if (!inside.contains(operand.getParentRegion()->getParentOp()))
          outer += size_t(hash_value(operand));
      hash =
          llvm::hash_combine(hash, outer,
                             OperationEquivalence::computeHash(inner, OperationEquivalence::ignoreHashValue,
                                                               OperationEquivalence::ignoreHashValue,
                                                               OperationEquivalence::IgnoreLocations));
      return inside.size() < bounds.mostHashed ? WalkResult::advance() : WalkResult::interrupt();
    });
  return hash;
}

// Two ops are one key if they compute the same.
struct SameComputation : llvm::DenseMapInfo<Operation *> {
  static unsigned getHashValue(const Operation *key) {
    auto *op = const_cast<Operation *>(key);
    llvm::hash_code own = OperationEquivalence::computeHash(op, OperationEquivalence::directHashValue,
                                                            OperationEquivalence::ignoreHashValue,
                                                            OperationEquivalence::IgnoreLocations);
    return unsigned(op->getNumRegions() ? llvm::hash_combine(own, hashOfRegions(op)) : own);
  }
  static bool isEqual(const Operation *a, const Operation *b) {
    if (a == b)
      return true;
    if (isSentinel(a) || isSentinel(b))
      return false;
    return OperationEquivalence::isEquivalentTo(const_cast<Operation *>(a), const_cast<Operation *>(b),
                                                OperationEquivalence::IgnoreLocations);
  }
  static bool isSentinel(const Operation *op) { return op == getEmptyKey() || op == getTombstoneKey(); }
};

enum class Effect { None, Reads, MayWrite };

// Of the op alone, without what is in its regions.
Effect ownEffect(Operation *op) {
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  if (!effects)
    return op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() ? Effect::None : Effect::MayWrite;
  SmallVector<MemoryEffects::EffectInstance> found;
  effects.getEffects(found);
  if (found.empty())
    return Effect::None;
  bool reads =
      llvm::all_of(found, [](const auto &each) { return isa<MemoryEffects::Read>(each.getEffect()); });
  return reads ? Effect::Reads : Effect::MayWrite;
}

class Eliminator {
public:
  // The strongest effect of what is in `op` and of itself.
  Effect visit(Operation *op) {
    Effect effect = ownEffect(op);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        effect = std::max(effect, visit(block));
    return effect;
  }

private:
  using Pure = llvm::ScopedHashTable<Operation *, Operation *, SameComputation, llvm::BumpPtrAllocator>;

  Effect visit(Block &block) {
    Pure::ScopeTy scope(pure_);
    llvm::DenseMap<Operation *, Operation *, SameComputation> reads;
    Effect strongest = Effect::None;
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (isOpTriviallyDead(&op)) {
        op.erase();
        continue;
      }
      Effect effect = visit(&op);
      strongest = std::max(strongest, effect);
      if (effect == Effect::MayWrite)
        reads.clear();
      else if (isKept(op))
        continue;
      else if (effect == Effect::None)
        replace(op, pure_.lookup(&op), [&] { pure_.insert(&op, &op); });
      else
        replace(op, reads.lookup(&op), [&] { reads.try_emplace(&op, &op); });
    }
    return strongest;
  }

  // Ends of blocks stay, and so do ops whose regions branch: their equality is not asked.
  static bool isKept(Operation &op) {
    return op.hasTrait<OpTrait::IsTerminator>() || op.getNumResults() == 0 ||
           llvm::any_of(op.getRegions(),
                        [](Region &region) { return !region.hasOneBlock() && !region.empty(); });
  }

  template <typename Remember> static void replace(Operation &op, Operation *earlier, Remember remember) {
    if (!earlier)
      return remember();
    op.replaceAllUsesWith(earlier);
    op.erase();
  }

  Pure pure_;
};

} // namespace

void eliminateEqualOps(Operation *root) { Eliminator().visit(root); }

} // namespace tegula::tile
