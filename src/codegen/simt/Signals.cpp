// Signals and copies of boxes (base/CopyMap.h). A signal lies in a slot of a buffer; thread 0 begins and ends
// it. One thread of a warp, always the same, arrives and starts the copies that count there, so that they
// follow each other in one thread's order. All threads wait for themselves.
#include "codegen/simt/Emitter.h"

using namespace mlir;

namespace tegula::simt {

namespace {

llvm::Value *isFirst(Emitter &e, llvm::Value *and_ = nullptr) {
  return e.both(e.builder.CreateICmpEQ(e.thread(), e.builder.getInt32(0)), and_);
}

// This is the warp of that number, and `also` holds.
llvm::Value *isWarp(Emitter &e, int32_t warp, llvm::Value *also) {
  return e.both(e.builder.CreateICmpEQ(e.uniformWarp(), e.builder.getInt32(uint32_t(warp))), also);
}

// In one warp alone, all lanes of which come here; `body` gets whether this lane is the one that acts. A test
// of the thread's number would do as well, but the assembler then takes the operands of copies for ones that
// differ from lane to lane, and lets every warp look for lanes in a loop.
void inOneThread(Emitter &e, int32_t warp, llvm::Value *also, llvm::function_ref<void(llvm::Value *)> body) {
  e.when(isWarp(e, warp, also), [&] { body(e.hardware.electLane(e.builder)); });
}

llvm::Value *optional(Emitter &e, Value predicate) { return predicate ? e.scalar(predicate) : nullptr; }

llvm::Value *mapAt(Emitter &e, int32_t number) {
  return e.builder.CreateConstInBoundsGEP1_32(e.builder.getInt8Ty(), e.copyMaps(),
                                              unsigned(number) * CopyMap::bytes);
}

template <typename Body> void forSlots(Emitter &e, Value signals, Body body) {
  auto type = cast<BufferType>(signals.getType());
  for (int64_t slot = 0; slot != type.getSlots(); ++slot)
    body(e.builder.CreateConstInBoundsGEP1_32(e.builder.getInt8Ty(), e.scalar(signals),
                                              unsigned(uint64_t(slot) * type.slotBytes())));
}

void emitInit(Emitter &e, SignalInitOp op) {
  llvm::Value *first = isFirst(e);
  forSlots(e, op.getSignals(), [&](llvm::Value *signal) {
    e.hardware.initSignal(e.builder, signal, unsigned(op.getArrivals()), first);
  });
  e.hardware.publishSignals(e.builder, first);
}

// Waiting may be cut short by the machine: it is a loop.
void emitWait(Emitter &e, SignalWaitOp op) {
  auto wait = [&] {
    llvm::BasicBlock *wait = e.newBlock("wait"), *there = e.newBlock("there");
    llvm::Value *signal = e.scalar(op.getSignal()), *parity = e.scalar(op.getParity());
    e.builder.CreateBr(wait);
    e.builder.SetInsertPoint(wait);
    e.builder.CreateCondBr(e.hardware.trySignal(e.builder, signal, parity), there, wait);
    e.builder.SetInsertPoint(there);
  };
  llvm::Value *waits = optional(e, op.getPredicate());
  if (op.getWarp())
    waits = isWarp(e, *op.getWarp(), waits);
  if (waits)
    e.when(waits, wait);
  else
    wait();
}

void emitArrive(Emitter &e, SignalArriveOp op) {
  inOneThread(e, op.getWarp(), optional(e, op.getPredicate()), [&](llvm::Value *acts) {
    llvm::Value *signal = e.scalar(op.getSignal());
    if (op.getArrivals() > 1)
      e.hardware.arriveAtSignal(e.builder, signal, unsigned(op.getArrivals()) - 1, acts);
    e.hardware.announceAtSignal(e.builder, signal, e.scalar(op.getBytes()), acts);
  });
}

// Without a fence all of it costs less than a branch.
void emitArriveWarps(Emitter &e, SignalArriveWarpsOp op) {
  llvm::Value *arrives = optional(e, op.getPredicate());
  auto arrive = [&](llvm::Value *also) {
    e.hardware.warpBarrier(e.builder);
    e.hardware.arriveAtSignal(e.builder, e.scalar(op.getSignal()), 1,
                              e.both(e.hardware.electLane(e.builder), also));
  };
  if (!op.getFence())
    return arrive(arrives);
  auto arriveFenced = [&] {
    e.hardware.fenceForProducts(e.builder);
    arrive(nullptr);
  };
  if (arrives)
    e.when(arrives, arriveFenced);
  else
    arriveFenced();
}

// The boxes of a tile lie one behind the other: down its rows, then from panel to panel of columns.
// `columns`: of them in the buffer.
void forBoxes(Emitter &e, const CopyMap &map, uint32_t columns, llvm::Value *buffer, llvm::Value *column,
              llvm::Value *row, Hardware::BoxCopy copy,
              llvm::function_ref<void(const Hardware::BoxCopy &)> body) {
  auto &b = e.builder;
  for (uint32_t x = 0; x != columns; x += map.boxColumns)
    for (uint32_t y = 0; y != map.rows; y += map.boxRows) {
      uint32_t offset = (x * map.rows + y * map.boxColumns) * map.elementBytes;
      copy.shared = b.CreateConstInBoundsGEP1_32(b.getInt8Ty(), buffer, offset);
      copy.column = b.CreateAdd(column, b.getInt32(x));
      copy.row = b.CreateAdd(row, b.getInt32(y));
      body(copy);
    }
}

CopyMap mapOf(Operation *op, int32_t number) {
  return copyMapsOf(op->getParentOfType<ModuleOp>())[size_t(number)];
}

void emitCopy(Emitter &e, BulkCopyOp op) {
  CopyMap map = mapOf(op, op.getMap());
  Hardware::BoxCopy copy;
  copy.map = mapAt(e, op.getMap());
  copy.signal = e.scalar(op.getSignal());
  copy.origin = e.scalar(op.getOrigin());
  inOneThread(e, op.getWarp(), e.scalar(op.getPredicate()), [&](llvm::Value *acts) {
    copy.predicate = acts;
    forBoxes(e, map, map.columns, e.scalar(op.getBuffer()), e.scalar(op.getColumn()), e.scalar(op.getRow()),
             copy, [&](const Hardware::BoxCopy &box) { e.hardware.copyBox(e.builder, box); });
  });
}

void emitStore(Emitter &e, BulkStoreOp op) {
  CopyMap map = mapOf(op, op.getMap());
  auto type = cast<BufferType>(op.getBuffer().getType());
  auto columns = uint32_t(llvm::product_of(type.getShape()) / map.rows);
  Hardware::BoxCopy store;
  store.map = mapAt(e, op.getMap());
  store.origin = e.scalar(op.getOrigin());
  inOneThread(e, 0, nullptr, [&](llvm::Value *acts) {
    store.predicate = acts;
    forBoxes(e, map, columns, e.scalar(op.getBuffer()), e.scalar(op.getColumn()), e.scalar(op.getRow()),
             store, [&](const Hardware::BoxCopy &box) { e.hardware.storeBox(e.builder, box); });
    e.hardware.commitStores(e.builder, acts);
  });
}

} // namespace

void emitSignal(Emitter &e, Operation *op) {
  if (auto init = dyn_cast<SignalInitOp>(op))
    return emitInit(e, init);
  if (auto wait = dyn_cast<SignalWaitOp>(op))
    return emitWait(e, wait);
  if (auto copy = dyn_cast<BulkCopyOp>(op))
    return emitCopy(e, copy);
  if (auto store = dyn_cast<BulkStoreOp>(op))
    return emitStore(e, store);
  if (auto wait = dyn_cast<StoreWaitOp>(op)) // threads that have started none go on
    return e.hardware.waitForStores(e.builder, wait.getDone());
  if (auto maps = dyn_cast<CopyMapsOp>(op))
    return e.set(maps.getResult(), {e.hasCopyMaps()});
  if (auto end = dyn_cast<SignalEndOp>(op))
    return forSlots(e, end.getSignals(),
                    [&](llvm::Value *signal) { e.hardware.endSignal(e.builder, signal, isFirst(e)); });
  if (auto arrive = dyn_cast<SignalArriveOp>(op))
    return emitArrive(e, arrive);
  emitArriveWarps(e, cast<SignalArriveWarpsOp>(op));
}

} // namespace tegula::simt
