#include "compiler/WrittenArguments.h"
#include "ir/tile/Tile.h"

#include "llvm/ADT/DenseSet.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tegula::compiler {
namespace {

using namespace mlir;

bool isPointer(Value value) { return isa<tile::PointerType>(tile::elementType(value.getType())); }

// Walks from addresses back to where they come from.
struct Origins {
  SmallVector<Value> todo;
  llvm::DenseSet<Value> seen;

  void add(Value value) {
    if (isPointer(value) && seen.insert(value).second)
      todo.push_back(value);
  }

  void argument(BlockArgument value) {
    Operation *owner = value.getOwner()->getParentOp();
    unsigned index = value.getArgNumber();
    if (auto loop = dyn_cast<scf::ForOp>(owner)) {
      add(loop.getInitArgs()[index - 1]);
      add(loop.getBody()->getTerminator()->getOperand(index - 1));
    } else if (auto loop = dyn_cast<scf::WhileOp>(owner)) {
      if (value.getOwner() == loop.getBeforeBody()) {
        add(loop.getInits()[index]);
        add(loop.getYieldOp()->getOperand(index));
      } else {
        add(loop.getConditionOp().getArgs()[index]);
      }
    }
  }

  void result(OpResult value) {
    Operation *owner = value.getOwner();
    unsigned index = value.getResultNumber();
    if (isa<scf::IfOp, scf::ForOp>(owner)) {
      for (Region &region : owner->getRegions())
        if (!region.empty())
          add(region.front().getTerminator()->getOperand(index));
      if (auto loop = dyn_cast<scf::ForOp>(owner))
        add(loop.getInitArgs()[index]);
    } else if (auto loop = dyn_cast<scf::WhileOp>(owner)) {
      add(loop.getConditionOp().getArgs()[index]);
    } else {
      for (Value operand : owner->getOperands())
        add(operand);
    }
  }

  void run() {
    while (!todo.empty()) {
      Value value = todo.pop_back_val();
      if (auto block = dyn_cast<BlockArgument>(value))
        argument(block);
      else
        result(cast<OpResult>(value));
    }
  }
};

} // namespace

std::vector<bool> writtenArguments(Operation *function) {
  Origins origins;
  function->walk([&](Operation *op) {
    // Loads and prints only read; every other op with effects on memory that takes an address writes.
    if (isa<tile::LoadOp, tile::PrintOp>(op) || op->getNumRegions() != 0 || op->hasTrait<OpTrait::IsTerminator>())
      return;
    if (!isMemoryEffectFree(op))
      for (Value operand : op->getOperands())
        origins.add(operand);
  });
  origins.run();
  std::vector<bool> written;
  for (BlockArgument argument : cast<FunctionOpInterface>(function).getArguments())
    written.push_back(origins.seen.contains(argument));
  return written;
}

} // namespace tegula::compiler
