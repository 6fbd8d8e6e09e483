// Elementwise maps over the operands of an op: one loop an op, the function inlined in it.
#pragma once
#include "interp/Interpreter.h"

#include <type_traits>

namespace tegula::interp {

// Calls f(i) for each element of the result and stores what it gives.
template <class F> bool mapElements(Interpreter &machine, mlir::Operation *op, F f) {
  Tile result = Interpreter::make(op->getResult(0).getType());
  for (size_t i = 0, n = result.size(); i < n; ++i)
    result.bits[i] = f(i);
  machine.define(op->getResult(0), std::move(result));
  return true;
}

// Integers as zero-extended bits: f(a, width) or f(a, b, width); the result is truncated.
template <class F> bool mapIntegers(Interpreter &machine, mlir::Operation *op, F f) {
  const Tile &a = machine.operand(op, 0);
  const unsigned width = a.width();
  if constexpr (std::is_invocable_v<F, uint64_t, unsigned>) {
    return mapElements(machine, op, [&](size_t i) { return truncate(f(a.bits[i], width), width); });
  } else {
    const Tile &b = machine.operand(op, 1);
    return mapElements(machine, op,
                       [&](size_t i) { return truncate(f(a.bits[i], b.bits[i], width), width); });
  }
}

// Signed integers: f(a, b, width).
template <class F> bool mapSigned(Interpreter &machine, mlir::Operation *op, F f) {
  return mapIntegers(machine, op, [&](uint64_t a, uint64_t b, unsigned width) {
    return uint64_t(f(signExtend(a, width), signExtend(b, width), width));
  });
}

// Floats as doubles; the result is rounded once to its type. Right only for functions
// whose double result, rounded again, is the correctly rounded one: + - * / and sqrt
// (53 >= 2 * 24 + 2), and functions that are exact in a double.
template <class F> bool mapFloats(Interpreter &machine, mlir::Operation *op, F f) {
  const Element to = *elementOf(op->getResult(0).getType());
  const Tile &a = machine.operand(op, 0);
  if constexpr (std::is_invocable_v<F, double>) {
    return mapElements(machine, op, [&](size_t i) { return encode(to, f(a.asDouble(i))); });
  } else if constexpr (std::is_invocable_v<F, double, double>) {
    const Tile &b = machine.operand(op, 1);
    return mapElements(machine, op, [&](size_t i) { return encode(to, f(a.asDouble(i), b.asDouble(i))); });
  } else {
    const Tile &b = machine.operand(op, 1), &c = machine.operand(op, 2);
    return mapElements(machine, op,
                       [&](size_t i) { return encode(to, f(a.asDouble(i), b.asDouble(i), c.asDouble(i))); });
  }
}

// The sign bit of floats of a width: negation and its like are exact on bits, NaN included.
inline uint64_t signBit(unsigned width) { return uint64_t(1) << (width - 1); }

} // namespace tegula::interp
