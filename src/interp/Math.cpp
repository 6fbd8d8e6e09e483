// Functions of floats: the host's libm in f64 (f64 itself in long double), rounded once.
#include "interp/Maps.h"

#include <cmath>

namespace tegula::interp {

namespace {

using mlir::Operation;

// `f` is generic: called with doubles, or with long doubles where the type is f64.
template <class F> bool mapFunction(Interpreter &machine, Operation *op, F f) {
  const Element to = *elementOf(op->getResult(0).getType());
  const Tile &a = machine.operand(op, 0);
  const Tile &b = machine.operand(op, op->getNumOperands() - 1);
  auto apply = [&](auto x, auto y) {
    if constexpr (std::is_invocable_v<F, double>)
      return f(x);
    else
      return f(x, y);
  };
  if (to == Element::F64)
    return mapElements(machine, op, [&](size_t i) {
      return encode(to, double(apply((long double)a.asDouble(i), (long double)b.asDouble(i))));
    });
  return mapElements(machine, op, [&](size_t i) { return encode(to, apply(a.asDouble(i), b.asDouble(i))); });
}

bool fma(Interpreter &machine, Operation *op) {
  const Tile &a = machine.operand(op, 0), &b = machine.operand(op, 1), &c = machine.operand(op, 2);
  return mapElements(machine, op,
                     [&](size_t i) { return fusedMultiplyAdd(a.element, a.bits[i], b.bits[i], c.bits[i]); });
}

template <class F> bool classify(Interpreter &machine, Operation *op, F f) {
  const Tile &a = machine.operand(op, 0);
  return mapElements(machine, op, [&](size_t i) { return uint64_t(f(a.asDouble(i))); });
}

} // namespace

void addMath(Table &table) {
  table["math.fma"] = fma;
  table["math.absf"] = [](Interpreter &machine, Operation *op) {
    return mapIntegers(machine, op, [](uint64_t a, unsigned width) { return a & ~signBit(width); });
  };
  table["math.copysign"] = [](Interpreter &machine, Operation *op) {
    return mapIntegers(machine, op, [](uint64_t a, uint64_t b, unsigned width) {
      return (a & ~signBit(width)) | (b & signBit(width));
    });
  };
  table["math.isnan"] = [](Interpreter &machine, Operation *op) {
    return classify(machine, op, [](double a) { return std::isnan(a); });
  };
  table["math.isinf"] = [](Interpreter &machine, Operation *op) {
    return classify(machine, op, [](double a) { return std::isinf(a); });
  };
  table["math.isfinite"] = [](Interpreter &machine, Operation *op) {
    return classify(machine, op, [](double a) { return std::isfinite(a); });
  };
// Exact, or rounded once from a double.
#define EXACT(name, value)                                                                                   \
  table[name] = [](Interpreter &machine, Operation *op) {                                                    \
    return mapFloats(machine, op, [](double a) { return value; });                                           \
  }
  EXACT("math.sqrt", std::sqrt(a));
  EXACT("math.floor", std::floor(a));
  EXACT("math.ceil", std::ceil(a));
  EXACT("math.trunc", std::trunc(a));
  EXACT("math.round", std::round(a));
  EXACT("math.roundeven", std::nearbyint(a));
#undef EXACT
#define FUNCTION(name, value)                                                                                \
  table[name] = [](Interpreter &machine, Operation *op) {                                                    \
    return mapFunction(machine, op, [](auto a) { return value; });                                           \
  }
  FUNCTION("math.exp", std::exp(a));
  FUNCTION("math.exp2", std::exp2(a));
  FUNCTION("math.expm1", std::expm1(a));
  FUNCTION("math.log", std::log(a));
  FUNCTION("math.log2", std::log2(a));
  FUNCTION("math.log10", std::log10(a));
  FUNCTION("math.log1p", std::log1p(a));
  FUNCTION("math.sin", std::sin(a));
  FUNCTION("math.cos", std::cos(a));
  FUNCTION("math.tan", std::tan(a));
  FUNCTION("math.asin", std::asin(a));
  FUNCTION("math.acos", std::acos(a));
  FUNCTION("math.atan", std::atan(a));
  FUNCTION("math.sinh", std::sinh(a));
  FUNCTION("math.cosh", std::cosh(a));
  FUNCTION("math.tanh", std::tanh(a));
  FUNCTION("math.asinh", std::asinh(a));
  FUNCTION("math.acosh", std::acosh(a));
  FUNCTION("math.atanh", std::atanh(a));
  FUNCTION("math.erf", std::erf(a));
  FUNCTION("math.erfc", std::erfc(a));
  FUNCTION("math.cbrt", std::cbrt(a));
  FUNCTION("math.rsqrt", 1 / std::sqrt(a));
#undef FUNCTION
  table["math.powf"] = [](Interpreter &machine, Operation *op) {
    return mapFunction(machine, op, [](auto a, auto b) { return std::pow(a, b); });
  };
  table["math.atan2"] = [](Interpreter &machine, Operation *op) {
    return mapFunction(machine, op, [](auto a, auto b) { return std::atan2(a, b); });
  };
}

} // namespace tegula::interp
