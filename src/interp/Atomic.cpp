// Atomics: programs run one after another, elements in row-major order, so each is a load, a
// computation and a store.
#include "interp/Access.h"

#include <algorithm>

namespace tegula::interp {

namespace {

uint64_t combined(tile::AtomicKind kind, Element element, uint64_t old, uint64_t value) {
  const unsigned width = widthOf(element);
  const bool less = signExtend(old, width) < signExtend(value, width);
  switch (kind) {
  case tile::AtomicKind::And: return old & value;
  case tile::AtomicKind::Or: return old | value;
  case tile::AtomicKind::Xor: return old ^ value;
  case tile::AtomicKind::Add: return truncate(old + value, width);
  // A sum of two floats is exact enough in f64 to be rounded again (Maps.h).
  case tile::AtomicKind::FAdd: return encode(element, decode(element, old) + decode(element, value));
  case tile::AtomicKind::Max: return less ? value : old;
  case tile::AtomicKind::Min: return less ? old : value;
  case tile::AtomicKind::UMax: return std::max(old, value);
  case tile::AtomicKind::UMin: return std::min(old, value);
  case tile::AtomicKind::Exch: return value;
  }
  return old;
}

// Stores f(i, old) at each address that is on; the results are what was there.
template <class F>
bool update(Interpreter &machine, mlir::Operation *op, const Tile &pointer, const Tile *mask, F f) {
  Tile result = Interpreter::make(op->getResult(0).getType());
  for (size_t i = 0; i < result.size(); ++i) {
    if (mask && !mask->bits[i])
      continue;
    if (!checkAddress(machine, op, pointer.bits[i]))
      return false;
    result.bits[i] = readElement(pointer.bits[i], result.element);
    writeElement(pointer.bits[i], result.element, f(i, result.bits[i]));
  }
  machine.define(op->getResult(0), std::move(result));
  return true;
}

} // namespace

template <> bool execute(Interpreter &machine, tile::AtomicRMWOp op) {
  const Tile &value = machine.value(op.getValue());
  const Tile *mask = op.getMask() ? &machine.value(op.getMask()) : nullptr;
  return update(machine, op, machine.value(op.getPtr()), mask, [&](size_t i, uint64_t old) {
    return combined(op.getKind(), value.element, old, value.bits[i]);
  });
}

template <> bool execute(Interpreter &machine, tile::AtomicCASOp op) {
  const Tile &expected = machine.value(op.getCmp()), &value = machine.value(op.getValue());
  return update(machine, op, machine.value(op.getPtr()), nullptr,
                [&](size_t i, uint64_t old) { return old == expected.bits[i] ? value.bits[i] : old; });
}

} // namespace tegula::interp
