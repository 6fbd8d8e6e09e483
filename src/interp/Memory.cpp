// Loads and stores of the process's own memory, element by element in row-major order:
// of several stores to one address the last element stays.
#include "interp/Maps.h"

#include <cstring>

namespace tegula::interp {

namespace {

// No process has memory there: a null pointer plus an offset.
constexpr uint64_t firstPage = 4096;

unsigned bytesOf(Element element) { return (widthOf(element) + 7) / 8; }

uint64_t read(uint64_t address, Element element) {
  uint64_t bits = 0;
  std::memcpy(&bits, reinterpret_cast<const void *>(address), bytesOf(element));
  return element == Element::I1 ? bits != 0 : bits;
}

bool refuse(Machine &machine, mlir::Operation *op, uint64_t address) {
  return machine.fail(op, StatusCode::Data, "access to address " + llvm::Twine(address) + ", which is a null pointer");
}

} // namespace

template <> bool execute(Machine &machine, tile::LoadOp op) {
  const Tile &pointer = machine.value(op.getPtr());
  const Tile *mask = op.getMask() ? &machine.value(op.getMask()) : nullptr;
  const Tile *other = op.getOther() ? &machine.value(op.getOther()) : nullptr;
  Tile result = Machine::make(op.getType());
  for (size_t i = 0; i < result.size(); ++i) {
    if (mask && !mask->bits[i]) {
      result.bits[i] = other ? other->bits[i] : 0;
      continue;
    }
    if (pointer.bits[i] < firstPage)
      return refuse(machine, op, pointer.bits[i]);
    result.bits[i] = read(pointer.bits[i], result.element);
  }
  machine.define(op.getResult(), std::move(result));
  return true;
}

template <> bool execute(Machine &machine, tile::StoreOp op) {
  const Tile &pointer = machine.value(op.getPtr()), &value = machine.value(op.getValue());
  const Tile *mask = op.getMask() ? &machine.value(op.getMask()) : nullptr;
  for (size_t i = 0; i < value.size(); ++i) {
    if (mask && !mask->bits[i])
      continue;
    if (pointer.bits[i] < firstPage)
      return refuse(machine, op, pointer.bits[i]);
    std::memcpy(reinterpret_cast<void *>(pointer.bits[i]), &value.bits[i], bytesOf(value.element));
  }
  return true;
}

// Effects happen in order as it is.
template <> bool execute(Machine &, tile::BarrierOp) { return true; }

} // namespace tegula::interp
