#include "transforms/TilePressure.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {

namespace {

bool isView(Operation *op) { return isa<SplatOp, ExpandDimsOp, BroadcastOp, TransOp>(op); }

// Words of 32 bits. Conditions are found again by a comparison, addresses are an offset each, and what is
// loaded one by one has a register of its own.
int64_t wordsOf(Value value, analysis::AxisInfoAnalysis &axes) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  Operation *op = value.getDefiningOp();
  if (!type || !op || isView(op) || isa<arith::ConstantOp>(op) || type.getElementType().isInteger(1))
    return 0;
  const analysis::AxisInfo &facts = axes.at(value);
  bool isRegular = true;
  for (auto [dim, extent] : llvm::enumerate(type.getShape()))
    isRegular &= std::max(facts.contiguity[dim], facts.constancy[dim]) >= extent;
  if (isRegular)
    return 0;
  auto load = dyn_cast<LoadOp>(op);
  unsigned bits = isa<PointerType>(type.getElementType()) || (load && isScattered(load.getPtr(), axes))
                      ? 32
                      : type.getElementType().getIntOrFloatBitWidth();
  return (type.getNumElements() * bits + 31) / 32;
}

} // namespace

bool isScattered(Value pointers, analysis::AxisInfoAnalysis &axes) {
  return isa<RankedTensorType>(pointers.getType()) &&
         llvm::all_of(axes.at(pointers).contiguity, [](int64_t run) { return run == 1; });
}

int64_t mostHeld(Block &block, analysis::AxisInfoAnalysis &axes) {
  llvm::DenseSet<Value> live;
  int64_t held = 0, most = 0;
  auto use = [&](Value value) {
    while (Operation *op = value.getDefiningOp()) {
      if (!isView(op))
        break;
      value = op->getOperand(0);
    }
    if (live.insert(value).second)
      held += wordsOf(value, axes);
  };
  for (Operation &op : llvm::reverse(block)) {
    for (Value result : op.getResults())
      if (live.erase(result))
        held -= wordsOf(result, axes);
    if (!isView(&op))
      for (Value operand : op.getOperands())
        use(operand);
    most = std::max(most, held);
  }
  return most;
}

} // namespace tegula::transforms
