#include "ir/simt/Scratch.h"
#include "transforms/SharedMemory.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {

namespace {

// What some warp may still be doing when another one is here.
struct Pending {
  // Byte ranges of scratch that may still be read.
  llvm::SmallSetVector<std::pair<uint64_t, uint64_t>, 4> reads;
  // Addresses of loads whose elements may not all be read yet.
  llvm::SmallSetVector<Value, 4> loads;

  bool merge(const Pending &other) {
    size_t before = reads.size() + loads.size();
    reads.insert(other.reads.begin(), other.reads.end());
    loads.insert(other.loads.begin(), other.loads.end());
    return reads.size() + loads.size() != before;
  }
};

// The scalar pointers that an address comes from; null among them: unknown.
void roots(Value address, llvm::SmallSetVector<Value, 4> &result, unsigned depth = 0) {
  Operation *op = address.getDefiningOp();
  if (depth > 32)
    return void(result.insert(Value()));
  if (!op) {
    auto argument = cast<BlockArgument>(address);
    Operation *parent = argument.getOwner()->getParentOp();
    if (isa<FuncOp>(parent))
      return void(result.insert(address));
    if (auto loop = dyn_cast<scf::ForOp>(parent); loop && argument.getArgNumber() > 0)
      return roots(loop.getInitArgs()[argument.getArgNumber() - 1], result, depth + 1);
    return void(result.insert(Value()));
  }
  if (isa<AddPtrOp, SplatOp, BroadcastOp, ExpandDimsOp, TransOp, ReshapeOp, simt::ConvertOp, BitcastOp>(op))
    return roots(op->getOperand(0), result, depth + 1);
  result.insert(Value());
}

// May a store write what the load has yet to read? Each thread reads its own elements before it
// writes them, so the same address in the same layout is no matter.
bool mustWait(Value loaded, Value stored) {
  if (loaded == stored)
    return false;
  llvm::SmallSetVector<Value, 4> from, to;
  roots(loaded, from);
  roots(stored, to);
  // Of two arguments the memory model for GPUs asks nothing (M12).
  return llvm::any_of(from, [&](Value root) { return !root || to.contains(root); }) || to.contains(Value());
}

class Barriers {
public:
  Pending run(Block &block, Pending state) {
    for (Operation &op : llvm::make_early_inc_range(block))
      visit(&op, state);
    return state;
  }

private:
  void meet(Operation *before, Pending &state) {
    OpBuilder builder(before);
    simt::BarrierOp::create(builder, before->getLoc());
    state = {};
  }

  void visit(Operation *op, Pending &state) {
    if (isa<simt::BarrierOp, tile::BarrierOp>(op)) {
      state = {};
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      repeat({loop.getBody()}, state);
    } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      repeat({loop.getBeforeBody(), loop.getAfterBody()}, state);
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      Pending otherwise = branch.elseBlock() ? run(*branch.elseBlock(), state) : state;
      state = run(*branch.thenBlock(), state);
      state.merge(otherwise);
    } else if (op->hasAttr(simt::scratchName)) {
      uint64_t begin = uint64_t(op->getAttrOfType<IntegerAttr>(simt::scratchName).getInt());
      uint64_t end = begin + simt::scratchBytes(op);
      if (llvm::any_of(state.reads, [&](auto range) { return range.first < end && begin < range.second; }))
        meet(op, state);
      auto convert = dyn_cast<simt::ConvertOp>(op);
      if (!convert || !simt::planOf(convert).shared.withinWarp)
        state = {}; // all warps meet between writing and reading
      state.reads.insert({begin, end});
    } else if (auto load = dyn_cast<LoadOp>(op)) {
      if (isa<RankedTensorType>(load.getPtr().getType()))
        state.loads.insert(load.getPtr());
    } else if (auto store = dyn_cast<StoreOp>(op)) {
      if (llvm::any_of(state.loads, [&](Value loaded) { return mustWait(loaded, store.getPtr()); }))
        meet(op, state);
    }
  }

  // What is pending at the end of an iteration is so at the beginning of the next.
  void repeat(ArrayRef<Block *> blocks, Pending &state) {
    for (bool changed = true; changed;) {
      Pending end = state;
      for (Block *block : blocks)
        end = run(*block, end);
      changed = state.merge(end);
    }
  }
};

} // namespace

void insertBarriers(ModuleOp module) {
  for (FuncOp function : module.getOps<FuncOp>())
    Barriers().run(function.getBody().front(), {});
}

} // namespace tegula::transforms
