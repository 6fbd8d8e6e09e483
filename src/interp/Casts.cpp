// Conversions between element types (numerical contract N6, N7, N12, N13).
#include "interp/Maps.h"

namespace tegula::interp {

namespace {

using mlir::Operation;

// f(bits, from element, to element)
template <class F> bool convert(Interpreter &machine, Operation *op, F f) {
  const Tile &value = machine.operand(op, 0);
  const Element to = *elementOf(op->getResult(0).getType());
  return mapElements(machine, op, [&](size_t i) { return f(value.bits[i], value.element, to); });
}

uint64_t extendSigned(uint64_t bits, Element from, Element to) {
  return truncate(uint64_t(signExtend(bits, widthOf(from))), widthOf(to));
}
uint64_t extendUnsigned(uint64_t bits, Element, Element to) { return truncate(bits, widthOf(to)); }
uint64_t signedToFloat(uint64_t bits, Element from, Element to) {
  return encodeInteger(to, uint64_t(signExtend(bits, widthOf(from))), true);
}
uint64_t unsignedToFloat(uint64_t bits, Element, Element to) { return encodeInteger(to, bits, false); }
uint64_t floatToSigned(uint64_t bits, Element from, Element to) {
  return toInteger(decode(from, bits), widthOf(to), true);
}
uint64_t floatToUnsigned(uint64_t bits, Element from, Element to) {
  return toInteger(decode(from, bits), widthOf(to), false);
}
uint64_t floatToFloat(uint64_t bits, Element from, Element to) { return encode(to, decode(from, bits)); }
uint64_t sameBits(uint64_t bits, Element, Element) { return bits; }

} // namespace

void addCasts(Table &table) {
#define CAST(name, function)                                                                                 \
  table[name] = [](Interpreter &machine, Operation *op) { return convert(machine, op, function); }
  CAST("arith.extsi", extendSigned);
  CAST("arith.extui", extendUnsigned);
  CAST("arith.trunci", extendUnsigned);
  CAST("arith.index_cast", extendSigned);
  CAST("arith.index_castui", extendUnsigned);
  CAST("arith.sitofp", signedToFloat);
  CAST("arith.uitofp", unsignedToFloat);
  CAST("arith.fptosi", floatToSigned);
  CAST("arith.fptoui", floatToUnsigned);
  CAST("arith.extf", floatToFloat);
  CAST("arith.truncf", floatToFloat);
  CAST("arith.bitcast", sameBits);
#undef CAST
}

} // namespace tegula::interp
