// Histograms: bins in shared memory, counted by atomics, read by everyone in the result's layout.
#include "codegen/simt/Emitter.h"
#include "ir/simt/Scratch.h"

using namespace mlir;
using namespace tegula::tile;
using tegula::layout::Axis;
using tegula::layout::Layout;

namespace tegula::simt {

namespace {

constexpr unsigned binBytes = 4;

llvm::Value *bin(Emitter &e, HistogramOp op, llvm::Value *index) {
  return e.scratch(op, e.builder.CreateMul(index, e.builder.getInt32(binBytes)));
}

void clear(Emitter &e, HistogramOp op, unsigned bins) {
  auto &b = e.builder;
  unsigned threads = e.warps * Hardware::warpSize;
  for (unsigned start = 0; start < bins; start += threads) {
    llvm::Value *index = b.CreateAdd(e.thread(), b.getInt32(start));
    Access access;
    access.pointer = bin(e, op, index);
    access.element = b.getInt32Ty();
    if (start + threads > bins)
      access.predicate = b.CreateICmpULT(index, b.getInt32(bins));
    e.hardware.store(b, access, {b.getInt32(0)});
  }
}

void countElements(Emitter &e, HistogramOp op, uint64_t bins) {
  auto &b = e.builder;
  Layout source = layoutOf(op.getSource());
  const Registers values = e.registers(op.getSource());
  llvm::Value *first = e.isFirstCopy(source);
  Atomic atomic;
  atomic.scope = MemScope::CTA;
  atomic.isUsed = false;
  for (unsigned reg = 0; reg != values.size(); ++reg) {
    if (!source.isLive(reg) || (reg & source.freeBits(Axis::Register)))
      continue;
    atomic.predicate = e.both(first, e.inside(source, reg));
    if (Value mask = op.getMask())
      atomic.predicate = e.both(
          atomic.predicate, isa<RankedTensorType>(mask.getType()) ? e.registers(mask)[reg] : e.scalar(mask));
    llvm::Type *type = values[reg]->getType();
    unsigned bits = type->getIntegerBitWidth();
    if (bits >= 64 || bins >> bits == 0)
      atomic.predicate =
          e.both(atomic.predicate, b.CreateICmpULT(values[reg], llvm::ConstantInt::get(type, bins)));
    atomic.pointer = bin(e, op, b.CreateZExtOrTrunc(values[reg], b.getInt32Ty()));
    e.hardware.atomicRmw(b, atomic, AtomicKind::Add, b.getInt32(1));
  }
}

} // namespace

void emitHistogram(Emitter &e, HistogramOp op) {
  auto &b = e.builder;
  Layout result = layoutOf(op.getResult());
  clear(e, op, unsigned(result.hull(0)));
  e.hardware.barrier(b);
  countElements(e, op, uint64_t(result.extents()[0]));
  e.hardware.barrier(b);
  llvm::Type *element = e.type(elementType(op.getType()));
  Registers counts(result.size(Axis::Register), nullptr);
  for (unsigned reg = 0; reg != counts.size(); ++reg)
    if (result.isLive(reg)) {
      llvm::Value *at = bin(e, op, e.flatCoordinate(result, reg));
      counts[reg] =
          b.CreateZExtOrTrunc(b.CreateAlignedLoad(b.getInt32Ty(), at, llvm::Align(binBytes)), element);
    }
  e.set(op, std::move(counts));
}

} // namespace tegula::simt
