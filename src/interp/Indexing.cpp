// Ranges and addresses.
#include "interp/Maps.h"

namespace tegula::interp {

template <> bool execute(Interpreter &machine, tile::MakeRangeOp op) {
  const uint64_t start = uint64_t(int64_t(int32_t(op.getStart())));
  const unsigned width = widthOf(*elementOf(op.getType()));
  return mapElements(machine, op, [=](size_t i) { return truncate(start + i, width); });
}

template <> bool execute(Interpreter &machine, tile::AddPtrOp op) {
  auto pointee = mlir::cast<tile::PointerType>(tile::elementType(op.getType())).getPointee();
  std::optional<Element> element = elementOf(pointee);
  if (!element)
    return machine.fail(op, StatusCode::Unsupported,
                        "the interpreter does not know what this pointer points at");
  const uint64_t bytes = (widthOf(*element) + 7) / 8;
  const Tile &pointer = machine.value(op.getPtr()), &offset = machine.value(op.getOffset());
  return mapElements(machine, op,
                     [&](size_t i) { return pointer.bits[i] + uint64_t(offset.asSigned(i)) * bytes; });
}

template <> bool execute(Interpreter &machine, tile::PtrToIntOp op) {
  const Tile &pointer = machine.value(op.getPtr());
  const unsigned width = widthOf(*elementOf(op.getType()));
  return mapElements(machine, op, [&](size_t i) { return truncate(pointer.bits[i], width); });
}

template <> bool execute(Interpreter &machine, tile::IntToPtrOp op) {
  const Tile &value = machine.value(op.getValue());
  return mapElements(machine, op, [&](size_t i) { return value.bits[i]; });
}

} // namespace tegula::interp
