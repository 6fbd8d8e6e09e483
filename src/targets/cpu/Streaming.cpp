#include "targets/cpu/Streaming.h"

#include "ir/tile/Tile.h"

#include "llvm/IR/IntrinsicsX86.h"

using namespace mlir;
using namespace tegula::tile;
using namespace tegula::analysis;

namespace tegula::cpu {

namespace {

// Each program writes its tile once. In a loop the addresses must move with it: LICM has taken
// those that do not move out of the loop.
bool writesOnce(StoreOp store) {
  Operation *pointers = store.getPtr().getDefiningOp();
  for (Operation *parent = store->getParentOp(); !isa<FuncOp>(parent); parent = parent->getParentOp())
    if (isa<scf::ForOp, scf::WhileOp>(parent) && pointers && !parent->isProperAncestor(pointers))
      return false;
  return true;
}

// What is read through the same pointer profits from the cache.
bool isRead(Operation *function, Value pointer, AccessAnalysis &access) {
  return function
      ->walk([&](LoadOp load) {
        const Address *address = access.address(load.getPtr());
        return !address || address->pointer == pointer ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

bool canStream(ProgramEmitter &p, const Nest &nest, const NestAccess &memory) {
  auto store = cast<StoreOp>(memory.op);
  const Address *address = p.access.address(store.getPtr());
  int64_t bytes = elementBytes(store.getPtr());
  if (!address || address->offset.base.hasTiles() || address->offset.strides[nest.lane].constant() != bytes ||
      bytes * p.machine.lanes() < 16 || nest.shape[nest.lane] < 2 * p.machine.lanes())
    return false;
  for (const Polynomial &stride : address->offset.strides)
    if (stride.hasTiles())
      return false;
  return store.getEvict() != Eviction::Last && writesOnce(store) &&
         !isRead(store->getParentOfType<FuncOp>(), address->pointer, p.access);
}

// Do all programs together write as much as the cache holds? Loops count with their trips.
llvm::Value *isLarge(ProgramEmitter &p, Operation *store, int64_t bytes) {
  auto &b = p.builder;
  llvm::Value *written = b.CreateMul(p.programs(), b.getInt64(bytes)),
              *limit = b.getInt64(p.machine.cacheBytes);
  for (Operation *parent = store->getParentOp(); !isa<FuncOp>(parent); parent = parent->getParentOp())
    if (auto loop = dyn_cast<scf::ForOp>(parent)) {
      auto wide = [&](Value value) { return b.CreateSExt(p.scalar(value), b.getInt64Ty()); };
      written = b.CreateMul(written, b.CreateSub(wide(loop.getUpperBound()), wide(loop.getLowerBound())));
      limit = b.CreateMul(limit, wide(loop.getStep()));
    }
  return b.CreateICmpSGE(written, limit);
}

// Every row of the nest starts at a whole vector.
llvm::Value *isAligned(ProgramEmitter &p, const Nest &nest, StoreOp store) {
  auto &b = p.builder;
  const Address &address = *p.access.address(store.getPtr());
  Evaluator evaluator(p, 1, true);
  evaluator.pushLevel();
  llvm::Value *bits = b.CreateAdd(b.CreatePtrToInt(p.scalar(address.pointer), b.getInt64Ty()),
                                  evaluator.polynomial(address.offset.base, {}));
  for (auto [d, stride] : llvm::enumerate(address.offset.strides))
    if (d != nest.lane && nest.shape[d] != 1)
      bits = b.CreateOr(bits, evaluator.polynomial(stride, {}));
  int64_t vector = elementBytes(store.getPtr()) * p.machine.lanes();
  return b.CreateICmpEQ(b.CreateAnd(bits, b.getInt64(vector - 1)), b.getInt64(0));
}

} // namespace

Streaming emitStreaming(ProgramEmitter &p, const Nest &nest, const NestAccesses &accesses) {
  Streaming result;
  if (llvm::any_of(nest.roots, [](const Root &root) { return root.kind != RootKind::Store; }))
    return result;
  auto &b = p.builder;
  int64_t elements = 1;
  for (int64_t extent : nest.shape)
    elements *= extent;
  for (const NestAccess &memory : accesses.stores) {
    if (!canStream(p, nest, memory))
      continue;
    int64_t bytes = elements * elementBytes(memory.pointers);
    llvm::Value *streams =
        b.CreateAnd(isLarge(p, memory.op, bytes), isAligned(p, nest, cast<StoreOp>(memory.op)));
    // In place the line is in the cache already.
    llvm::Value *target = p.scalar(p.access.address(memory.pointers)->pointer);
    for (const NestAccess &load : accesses.loads)
      streams =
          b.CreateAnd(streams, b.CreateICmpNE(target, p.scalar(p.access.address(load.pointers)->pointer)));
    result.condition = result.condition ? b.CreateAnd(result.condition, streams) : streams;
    result.stores.insert(memory.op);
    p.remark(memory.op, "access",
             "past the cache where the launch writes " + std::to_string(p.machine.cacheBytes >> 20) +
                 " MiB or more");
  }
  return result;
}

void fenceStreams(ProgramEmitter &p) { p.builder.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}); }

} // namespace tegula::cpu
