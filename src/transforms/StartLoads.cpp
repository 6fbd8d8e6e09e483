#include "transforms/StartLoads.h"
#include "ir/simt/Scratch.h"
#include "ir/simt/Simt.h"
#include "ir/tile/Tile.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {

namespace {

// One block's ops in their order. A run of them ends at products, and where something is stored or threads
// meet for more than conversions.
class Run {
public:
  Run(Block &block, unsigned most) : block_(block), most_(most) {}

  void visit() {
    for (Operation *op = &block_.front(), *next = nullptr; op; op = next) {
      next = op->getNextNode();
      auto load = dyn_cast<LoadOp>(op);
      bool isPlain = load && !load.getIsVolatile();
      if (op->getNumRegions() != 0 || isa<DotOp>(op) || !(isPlain || isMemoryEffectFree(op))) {
        first_ = nullptr;
        waiting_ = 0;
      } else if (auto convert = dyn_cast<simt::ConvertOp>(op)) {
        if (!first_ && convert.isThroughShared() && comesFromLoad(convert.getValue()))
          first_ = op;
      } else if (isPlain && first_) {
        start(load);
      }
    }
  }

private:
  bool isHere(Operation *op) const { return op && op->getBlock() == &block_; }

  // By casts and arithmetic alone?
  bool comesFromLoad(Value value) {
    llvm::SetVector<Operation *> reached;
    auto reach = [&](Value each) {
      if (Operation *op = each.getDefiningOp(); isHere(op))
        reached.insert(op);
    };
    reach(value);
    for (unsigned i = 0; i != reached.size(); ++i) {
      Operation *op = reached[i];
      if (isa<LoadOp>(op))
        return true;
      if (op->hasTrait<OpTrait::Elementwise>() && isMemoryEffectFree(op))
        llvm::for_each(op->getOperands(), reach);
    }
    return false;
  }

  // Moves the load ahead of the first conversion, with what it needs of the ops behind that.
  void start(LoadOp load) {
    unsigned brought = std::max(simt::registersOf(load.getType()), 1u);
    llvm::SetVector<Operation *> needed;
    if (waiting_ + brought > most_ || !find(load, needed))
      return;
    waiting_ += brought;
    for (Operation *op : needed)
      op->moveBefore(first_);
  }

  // Operands first. Does none of them meet other threads, or wait for a load itself?
  bool find(Operation *op, llvm::SetVector<Operation *> &needed) {
    if (!isHere(op) || op->isBeforeInBlock(first_) || needed.contains(op))
      return true;
    bool waits = op == first_ || isa<simt::ConvertOp>(op) || (isa<LoadOp>(op) && !needed.empty());
    if (waits || op->getNumRegions() != 0)
      return false;
    for (Value operand : op->getOperands())
      if (Operation *source = operand.getDefiningOp(); source && !find(source, needed))
        return false;
    needed.insert(op);
    return true;
  }

  Block &block_;
  unsigned most_;              // registers that wait
  unsigned waiting_ = 0;       // of a thread, that such loads bring
  Operation *first_ = nullptr; // conversion of the run that waits for a load
};

} // namespace

void startLoads(Operation *function, const simt::Machine &machine) {
  unsigned most = 4 * machine.costs.heldAhead;
  function->walk([&](Block *block) {
    if (!block->empty())
      Run(*block, most).visit();
  });
}

} // namespace tegula::transforms
