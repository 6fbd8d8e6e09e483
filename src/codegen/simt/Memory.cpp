// Loads and stores: runs of registers that lie side by side in memory are one access; masks are
// predicates. The width was decided where the layouts were.
#include "codegen/simt/Emitter.h"
#include "ir/tile/Unread.h"
#include "ir/tile/Volatile.h"

using namespace mlir;
using namespace tegula::tile;
using tegula::layout::Axis;
using tegula::layout::Layout;

namespace tegula::simt {

namespace {

unsigned widthOf(Operation *op) {
  auto width = op->getAttrOfType<IntegerAttr>(widthName);
  return width ? unsigned(width.getInt()) : 1;
}

// Is the number for the next trip? One that all lanes have goes to a register of the warp, where the
// assembler finds that out, and each trip waits for that move.
bool isCarried(LoadOp op) {
  return llvm::any_of(op->getUsers(), llvm::IsaPred<scf::YieldOp>) &&
         isa<LoopLikeOpInterface>(op->getParentOp());
}

} // namespace

llvm::Type *storedType(Emitter &e, llvm::Type *element) {
  if (element->isPointerTy())
    return e.builder.getInt64Ty();
  return element->isIntegerTy(1) ? e.builder.getInt8Ty() : element;
}

llvm::Value *toStored(Emitter &e, llvm::Value *value) {
  if (value->getType()->isPointerTy())
    return e.builder.CreatePtrToInt(value, e.builder.getInt64Ty());
  return value->getType()->isIntegerTy(1) ? e.builder.CreateZExt(value, e.builder.getInt8Ty()) : value;
}

llvm::Value *fromStored(Emitter &e, llvm::Value *stored, llvm::Type *element) {
  if (element->isPointerTy())
    return e.builder.CreateIntToPtr(stored, element);
  return element->isIntegerTy(1) ? e.builder.CreateTrunc(stored, element) : stored;
}

void emitLoad(Emitter &e, LoadOp op) {
  if (isVolatile(op))
    return emitVolatile(e, op);
  auto &b = e.builder;
  Type element = elementType(op.getType());
  Access access;
  access.element = storedType(e, e.type(element));
  access.cache = op.getCache();
  access.evict = op.getEvict();
  auto finish = [&](llvm::Value *value) { return fromStored(e, value, e.type(element)); };
  if (!isTile(op.getResult())) {
    access.pointer = e.scalar(op.getPtr());
    if (isCarried(op))
      access.pointer = b.CreatePtrAdd(access.pointer, e.zeroOfLane());
    Registers others;
    if (op->hasAttr(ownedName)) {
      access.predicate = b.CreateICmpEQ(e.thread(), b.getInt32(0)); // who stores scalars
      if (!op.getMask())
        others.push_back(llvm::PoisonValue::get(access.element)); // reaches nothing in the others
    }
    if (op.getMask()) {
      access.predicate = e.both(access.predicate, e.scalar(op.getMask()));
      if (op.getOther())
        others.push_back(toStored(e, e.scalar(op.getOther())));
      else if (op->hasAttr(
                   unreadName)) // a register that is set first keeps ptxas from running trips together
        others.push_back(llvm::PoisonValue::get(access.element));
    }
    return e.set(op.getResult(), {finish(e.hardware.load(b, access, others)[0])});
  }
  Layout layout = layoutOf(op.getResult());
  const Registers pointers = e.registers(op.getPtr());
  unsigned count = layout.size(Axis::Register), width = widthOf(op);
  Registers result(count, nullptr);
  llvm::Value *first = op->hasAttr(ownedName) ? e.isFirstCopy(layout) : nullptr;
  for (unsigned reg = 0; reg < count; reg += width) {
    if (!layout.isLive(reg))
      continue;
    access.count = width;
    access.pointer = pointers[reg];
    access.predicate = e.both(first, e.inside(layout, reg));
    bool isWhole = !access.predicate; // else a mask of the kernel's own does not say which elements are read
    if (op.getMask())
      access.predicate = e.both(access.predicate, e.registers(op.getMask())[reg]);
    Registers others;
    if (op.getOther())
      for (unsigned i = 0; i != width; ++i)
        others.push_back(toStored(e, e.registers(op.getOther())[reg + i]));
    else if (isWhole && op->hasAttr(unreadName))
      others.assign(width, llvm::PoisonValue::get(access.element));
    Hardware::Values loaded = e.hardware.load(b, access, others);
    for (unsigned i = 0; i != width; ++i)
      result[reg + i] = finish(loaded[i]);
  }
  e.set(op.getResult(), std::move(result));
}

void emitStore(Emitter &e, StoreOp op) {
  auto &b = e.builder;
  Access access;
  access.element = storedType(e, e.type(elementType(op.getValue().getType())));
  access.cache = op.getCache();
  access.evict = op.getEvict();
  access.isVolatile = isVolatile(op);
  if (!isTile(op.getValue())) {
    access.pointer = e.scalar(op.getPtr());
    access.predicate = b.CreateICmpEQ(e.thread(), b.getInt32(0));
    if (op.getMask())
      access.predicate = e.both(access.predicate, e.scalar(op.getMask()));
    e.hardware.store(b, access, {toStored(e, e.scalar(op.getValue()))});
    return;
  }
  Layout layout = layoutOf(op.getValue());
  const Registers pointers = e.registers(op.getPtr()), values = e.registers(op.getValue());
  unsigned width = widthOf(op);
  llvm::Value *first = e.isFirstCopy(layout);
  uint32_t repeated = layout.freeBits(Axis::Register);
  for (unsigned reg = 0; reg < layout.size(Axis::Register); reg += width) {
    if (!layout.isLive(reg) || (reg & repeated))
      continue;
    access.count = width;
    access.pointer = pointers[reg];
    access.predicate = e.both(first, e.inside(layout, reg));
    if (op.getMask())
      access.predicate = e.both(access.predicate, e.registers(op.getMask())[reg]);
    Registers stored;
    for (unsigned i = 0; i != width; ++i)
      stored.push_back(toStored(e, values[reg + i]));
    e.hardware.store(b, access, stored);
  }
}

void emitLoadPairs(Emitter &e, LoadPairsOp op) {
  Layout layout = layoutOf(op.getFirst());
  llvm::Type *element = e.type(elementType(op.getFirst().getType()));
  unsigned width = op.getWidth();
  Access access{.element = element, .count = 2 * width, .cache = op.getCache(), .evict = op.getEvict()};
  Registers first(layout.size(Axis::Register), nullptr), second = first;
  llvm::Value *isFirstCopy = op->hasAttr(ownedName) ? e.isFirstCopy(layout) : nullptr;
  for (unsigned reg = 0; reg < first.size(); reg += width) {
    if (!layout.isLive(reg))
      continue;
    access.pointer = e.registers(op.getPtr())[reg];
    access.predicate = e.both(isFirstCopy, e.inside(layout, reg));
    if (op.getMask())
      access.predicate = e.both(access.predicate, e.registers(op.getMask())[reg]);
    Registers others;
    for (unsigned i = 0; op.getFirstOther() && i != width; ++i) {
      others.push_back(e.registers(op.getFirstOther())[reg + i]);
      others.push_back(e.registers(op.getSecondOther())[reg + i]);
    }
    Hardware::Values loaded = e.hardware.load(e.builder, access, others);
    for (unsigned i = 0; i != width; ++i) {
      first[reg + i] = loaded[2 * i];
      second[reg + i] = loaded[2 * i + 1];
    }
  }
  e.set(op.getFirst(), std::move(first));
  e.set(op.getSecond(), std::move(second));
}

void emitStorePairs(Emitter &e, StorePairsOp op) {
  Layout layout = layoutOf(op.getFirst());
  llvm::Type *element = e.type(elementType(op.getFirst().getType()));
  unsigned width = op.getWidth();
  Access access{.element = element, .count = 2 * width, .cache = op.getCache(), .evict = op.getEvict()};
  const Registers pointers = e.registers(op.getPtr()), first = e.registers(op.getFirst()),
                  second = e.registers(op.getSecond());
  llvm::Value *isFirstCopy = e.isFirstCopy(layout);
  uint32_t repeated = layout.freeBits(Axis::Register);
  for (unsigned reg = 0; reg < layout.size(Axis::Register); reg += width) {
    if (!layout.isLive(reg) || (reg & repeated))
      continue;
    access.pointer = pointers[reg];
    access.predicate = e.both(isFirstCopy, e.inside(layout, reg));
    if (op.getMask())
      access.predicate = e.both(access.predicate, e.registers(op.getMask())[reg]);
    Registers stored;
    for (unsigned i = 0; i != width; ++i) {
      stored.push_back(first[reg + i]);
      stored.push_back(second[reg + i]);
    }
    e.hardware.store(e.builder, access, stored);
  }
}

} // namespace tegula::simt
