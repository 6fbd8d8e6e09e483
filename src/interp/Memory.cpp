// Loads and stores of the process's own memory, element by element in row-major order:
// of several stores to one address the last element stays.
#include "interp/Access.h"

namespace tegula::interp {

template <> bool execute(Interpreter &machine, tile::LoadOp op) {
  const Tile &pointer = machine.value(op.getPtr());
  const Tile *mask = op.getMask() ? &machine.value(op.getMask()) : nullptr;
  const Tile *other = op.getOther() ? &machine.value(op.getOther()) : nullptr;
  Tile result = Interpreter::make(op.getType());
  for (size_t i = 0; i < result.size(); ++i) {
    if (mask && !mask->bits[i]) {
      result.bits[i] = other ? other->bits[i] : 0;
      continue;
    }
    if (!checkAddress(machine, op, pointer.bits[i]))
      return false;
    result.bits[i] = readElement(pointer.bits[i], result.element);
  }
  machine.define(op.getResult(), std::move(result));
  return true;
}

template <> bool execute(Interpreter &machine, tile::StoreOp op) {
  const Tile &pointer = machine.value(op.getPtr()), &value = machine.value(op.getValue());
  const Tile *mask = op.getMask() ? &machine.value(op.getMask()) : nullptr;
  for (size_t i = 0; i < value.size(); ++i) {
    if (mask && !mask->bits[i])
      continue;
    if (!checkAddress(machine, op, pointer.bits[i]))
      return false;
    writeElement(pointer.bits[i], value.element, value.bits[i]);
  }
  return true;
}

// Effects happen in order as it is.
template <> bool execute(Interpreter &, tile::BarrierOp) { return true; }

} // namespace tegula::interp
