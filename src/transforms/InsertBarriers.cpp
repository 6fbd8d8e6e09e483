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
  // It may still access global memory; a release has to wait for that.
  bool accesses = false;
  // It may not yet have seen what another warp acquired.
  bool acquires = false;

  bool merge(const Pending &other) {
    size_t before = reads.size() + loads.size() + accesses + acquires;
    reads.insert(other.reads.begin(), other.reads.end());
    loads.insert(other.loads.begin(), other.loads.end());
    accesses |= other.accesses;
    acquires |= other.acquires;
    return reads.size() + loads.size() + accesses + acquires != before;
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
// writes them, so the same address in the same layout is no matter; a scalar is read by all threads
// and written by one.
bool mustWait(Value loaded, Value stored) {
  if (loaded == stored && isa<RankedTensorType>(loaded.getType()))
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
    } else if (isa<AtomicRMWOp, AtomicCASOp>(op)) {
      visitAtomic(op, state);
    } else if (op->hasAttr(simt::scratchName)) {
      visitScratch(op, state);
    } else if (auto load = dyn_cast<LoadOp>(op)) {
      access(op, load.getPtr(), /*reads=*/true, /*writes=*/false, state);
    } else if (auto store = dyn_cast<StoreOp>(op)) {
      access(op, store.getPtr(), /*reads=*/false, /*writes=*/true, state);
    }
  }

  void visitScratch(Operation *op, Pending &state) {
    uint64_t begin = uint64_t(op->getAttrOfType<IntegerAttr>(simt::scratchName).getInt());
    uint64_t end = begin + simt::scratchBytes(op);
    if (llvm::any_of(state.reads, [&](auto range) { return range.first < end && begin < range.second; }))
      meet(op, state);
    auto convert = dyn_cast<simt::ConvertOp>(op);
    if (!convert || !simt::planOf(convert).shared.withinWarp)
      state = {}; // all warps meet between writing and reading
    state.reads.insert({begin, end});
  }

  // An access of global memory at `address`.
  void access(Operation *op, Value address, bool reads, bool writes, Pending &state) {
    bool waits = writes && llvm::any_of(state.loads, [&](Value loaded) { return mustWait(loaded, address); });
    if (waits || state.acquires)
      meet(op, state);
    if (reads)
      state.loads.insert(address);
    state.accesses = true;
  }

  // What the program did before a release happens before it; what it does after an acquire, behind it.
  template <typename Op> void order(Op op, Pending &state) {
    bool releases = op.getSem() == MemSemantic::Release || op.getSem() == MemSemantic::AcquireRelease;
    bool acquires = op.getSem() == MemSemantic::Acquire || op.getSem() == MemSemantic::AcquireRelease;
    if (releases && state.accesses)
      meet(op, state);
    access(op, op.getPtr(), /*reads=*/true, /*writes=*/true, state);
    state.acquires |= acquires;
  }

  void visitAtomic(Operation *op, Pending &state) {
    if (auto cas = dyn_cast<AtomicCASOp>(op))
      order(cas, state);
    else
      order(cast<AtomicRMWOp>(op), state);
    if (op->hasAttr(simt::scratchName))
      visitScratch(op, state); // the warps meet behind the step
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
