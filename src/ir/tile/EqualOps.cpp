#include "ir/tile/EqualOps.h"

#include "mlir/IR/OperationSupport.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/ScopedHashTable.h"

using namespace mlir;

namespace tegula::tile {
namespace {

// Two ops are one key if they compute the same.
struct SameComputation : llvm::DenseMapInfo<Operation *> {
  static unsigned getHashValue(const Operation *op) {
    return OperationEquivalence::computeHash(
        const_cast<Operation *>(op), OperationEquivalence::directHashValue,
        OperationEquivalence::ignoreHashValue, OperationEquivalence::IgnoreLocations);
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
