// Atomics and volatile loads: the thread that holds the first copy of an element takes the step; other
// copies get what was there before through shared memory, so that all hold the same (P3). Scalars belong
// to thread 0. The order that `sem` asks of the program's other threads is InsertBarriers' matter.
#include "codegen/simt/Emitter.h"

using namespace mlir;
using namespace tegula::tile;
using tegula::layout::Axis;
using tegula::layout::Layout;

namespace tegula::simt {

namespace {

// The step of register `reg`, or of all those of its run; what was there before, or null.
using EmitElement = llvm::function_ref<llvm::Value *(const Atomic &, unsigned reg)>;

// What the first copy holds, in every copy.
Registers spread(Emitter &e, Operation *op, const Layout &layout, const Registers &old) {
  auto &b = e.builder;
  llvm::Type *element = e.type(elementType(op->getResult(0).getType())), *stored = storedType(e, element);
  unsigned bytes = stored->getScalarSizeInBits() / 8;
  uint32_t repeated = layout.freeBits(Axis::Register);
  auto place = [&](unsigned reg) {
    return e.scratch(op, b.CreateMul(e.flatCoordinate(layout, reg), b.getInt32(bytes)));
  };
  e.when(e.isFirstCopy(layout), [&] {
    for (unsigned reg = 0; reg != old.size(); ++reg)
      if (old[reg] && !(reg & repeated))
        b.CreateAlignedStore(toStored(e, old[reg]), place(reg), llvm::Align(bytes));
  });
  e.hardware.barrier(b);
  Registers result(old.size(), nullptr);
  for (unsigned reg = 0; reg != old.size(); ++reg)
    if (layout.isLive(reg))
      result[reg] = fromStored(e, b.CreateAlignedLoad(stored, place(reg), llvm::Align(bytes)), element);
  return result;
}

// How many steps a thread takes, `run` registers at a time.
unsigned stepsOf(const Layout &layout, unsigned run) {
  unsigned steps = 0;
  for (unsigned reg = 0; reg < layout.size(Axis::Register); reg += run)
    steps += layout.isLive(reg) && !(reg & layout.freeBits(Axis::Register));
  return steps;
}

void ofTile(Emitter &e, Operation *op, Atomic atomic, Value mask, unsigned run, EmitElement step) {
  Value result = op->getResult(0);
  Layout layout = layoutOf(result);
  const Registers pointers = e.registers(op->getOperand(0));
  uint32_t repeated = layout.freeBits(Axis::Register);
  llvm::Value *first = e.isFirstCopy(layout);
  Registers old(pointers.size(), nullptr);
  llvm::DenseMap<uint32_t, unsigned> held; // coordinate -> its first register
  bool releases = atomic.sem == MemSemantic::Release || atomic.sem == MemSemantic::AcquireRelease;
  bool acquires = atomic.sem == MemSemantic::Acquire || atomic.sem == MemSemantic::AcquireRelease;
  // Each ordered step waits for the one before. Of one op no step comes before another one (M18), so that one
  // fence ahead of all of a thread's steps and one behind them say the same.
  atomic.isFenced = (releases || acquires) && stepsOf(layout, run) > 1;
  if (atomic.isFenced && releases)
    e.hardware.fence(e.builder, atomic.scope);
  for (unsigned reg = 0; reg < old.size(); reg += run) {
    if (!layout.isLive(reg))
      continue;
    if (reg & repeated) {
      old[reg] = old[held.at(layout.apply(reg, 0, 0))];
      continue;
    }
    held[layout.apply(reg, 0, 0)] = reg;
    atomic.pointer = pointers[reg];
    atomic.predicate = e.both(first, e.inside(layout, reg));
    if (mask)
      atomic.predicate = e.both(atomic.predicate, e.registers(mask)[reg]);
    old[reg] = step(atomic, reg);
  }
  if (atomic.isFenced && acquires)
    e.hardware.fence(e.builder, atomic.scope);
  e.set(result, op->hasAttr(scratchName) ? spread(e, op, layout, old) : std::move(old));
}

void ofScalar(Emitter &e, Operation *op, Atomic atomic, Value mask, EmitElement step) {
  auto &b = e.builder;
  Value result = op->getResult(0);
  atomic.pointer = e.scalar(op->getOperand(0));
  atomic.predicate = b.CreateICmpEQ(e.thread(), b.getInt32(0));
  llvm::Value *isThread = atomic.predicate;
  if (mask)
    atomic.predicate = e.both(atomic.predicate, e.scalar(mask));
  llvm::Value *old = step(atomic, 0);
  if (!op->hasAttr(scratchName))
    return e.set(result, {old});
  llvm::Type *element = e.type(result.getType()), *stored = storedType(e, element);
  llvm::Align align(stored->getScalarSizeInBits() / 8);
  llvm::Value *place = e.scratch(op, b.getInt32(0));
  e.when(isThread, [&] { b.CreateAlignedStore(toStored(e, old), place, align); });
  e.hardware.barrier(b);
  e.set(result, {fromStored(e, b.CreateAlignedLoad(stored, place, align), element)});
}

template <typename Op> void emit(Emitter &e, Op op, Value mask, unsigned run, EmitElement step) {
  Atomic atomic;
  atomic.sem = op.getSem();
  atomic.scope = op.getScope();
  atomic.isUsed = !op->use_empty();
  if (isa<RankedTensorType>(op.getType()))
    ofTile(e, op, atomic, mask, run, step);
  else
    ofScalar(e, op, atomic, mask, step);
}

} // namespace

void emitAtomic(Emitter &e, AtomicRMWOp op) {
  const Registers values = e.registers(op.getValue());
  auto width = op->getAttrOfType<IntegerAttr>(widthName);
  unsigned run =
      width ? std::min(unsigned(width.getInt()), e.hardware.atomicAddWidth(values[0]->getType())) : 1;
  emit(e, op, op.getMask(), run, [&](const Atomic &atomic, unsigned reg) -> llvm::Value * {
    if (run > 1) {
      e.hardware.atomicAdd(e.builder, atomic, ArrayRef(values).slice(reg, run));
      return nullptr;
    }
    return e.hardware.atomicRmw(e.builder, atomic, op.getKind(), values[reg]);
  });
}

void emitVolatile(Emitter &e, LoadOp op) {
  Type type = op.getType();
  llvm::Type *element = e.type(elementType(type));
  auto step = [&](const Atomic &atomic, unsigned reg) -> llvm::Value * {
    Access access;
    access.pointer = atomic.pointer;
    access.element = storedType(e, element);
    access.predicate = atomic.predicate;
    access.isVolatile = true;
    Registers others;
    if (op.getOther())
      others.push_back(toStored(e, e.registers(op.getOther())[reg]));
    return fromStored(e, e.hardware.load(e.builder, access, others)[0], element);
  };
  if (isa<RankedTensorType>(type))
    ofTile(e, op, {}, op.getMask(), 1, step);
  else
    ofScalar(e, op, {}, op.getMask(), step);
}

void emitAtomic(Emitter &e, AtomicCASOp op) {
  const Registers expected = e.registers(op.getCmp()), values = e.registers(op.getValue());
  emit(e, op, Value(), 1, [&](const Atomic &atomic, unsigned reg) {
    return e.hardware.atomicCas(e.builder, atomic, expected[reg], values[reg]);
  });
}

} // namespace tegula::simt
