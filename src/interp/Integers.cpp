// Integer arithmetic. It wraps, and no operand is undefined (numerical contract N1 to N5).
#include "interp/Maps.h"

#include <bit>

namespace tegula::interp {

namespace {

using mlir::Operation;
namespace arith = mlir::arith;

int64_t quotient(int64_t a, int64_t b) {
  if (b == 0)
    return 0;
  return b == -1 ? int64_t(0 - uint64_t(a)) : a / b;
}
int64_t remainder(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }

int64_t floorQuotient(int64_t a, int64_t b) {
  return quotient(a, b) - (remainder(a, b) != 0 && (a < 0) != (b < 0));
}
int64_t ceilQuotient(int64_t a, int64_t b) {
  return quotient(a, b) + (remainder(a, b) != 0 && (a < 0) == (b < 0));
}

uint64_t power(int64_t base, int64_t exponent) {
  if (exponent < 0) // 1 / base^n, truncated
    return base == 1 ? 1 : base == -1 ? (exponent & 1 ? ~uint64_t(0) : 1) : 0;
  uint64_t result = 1, factor = uint64_t(base);
  for (; exponent != 0; exponent >>= 1, factor *= factor)
    if (exponent & 1)
      result *= factor;
  return result;
}

template <class F> bool compareWith(Interpreter &machine, Operation *op, F f) {
  const Tile &a = machine.operand(op, 0), &b = machine.operand(op, 1);
  return mapElements(machine, op, [&](size_t i) { return uint64_t(f(i, a, b)); });
}

bool compareIntegers(Interpreter &machine, Operation *op) {
  auto with = [&](auto f) { return compareWith(machine, op, f); };
  auto withSigned = [&](auto f) {
    return with([f](size_t i, const Tile &a, const Tile &b) { return f(a.asSigned(i), b.asSigned(i)); });
  };
  auto withUnsigned = [&](auto f) {
    return with([f](size_t i, const Tile &a, const Tile &b) { return f(a.bits[i], b.bits[i]); });
  };
  using P = arith::CmpIPredicate;
  switch (mlir::cast<arith::CmpIOp>(op).getPredicate()) {
  case P::eq: return withUnsigned(std::equal_to<uint64_t>());
  case P::ne: return withUnsigned(std::not_equal_to<uint64_t>());
  case P::slt: return withSigned(std::less<int64_t>());
  case P::sle: return withSigned(std::less_equal<int64_t>());
  case P::sgt: return withSigned(std::greater<int64_t>());
  case P::sge: return withSigned(std::greater_equal<int64_t>());
  case P::ult: return withUnsigned(std::less<uint64_t>());
  case P::ule: return withUnsigned(std::less_equal<uint64_t>());
  case P::ugt: return withUnsigned(std::greater<uint64_t>());
  case P::uge: return withUnsigned(std::greater_equal<uint64_t>());
  }
  return false;
}

// Two results: low bits of f, and what `high` makes of the operands.
template <class Low, class High> bool extended(Interpreter &machine, Operation *op, Low low, High high) {
  Tile first = Interpreter::make(op->getResult(0).getType()),
       second = Interpreter::make(op->getResult(1).getType());
  const Tile &a = machine.operand(op, 0), &b = machine.operand(op, 1);
  for (size_t i = 0; i < first.size(); ++i) {
    first.bits[i] = truncate(low(a.bits[i], b.bits[i]), a.width());
    second.bits[i] = truncate(high(a.bits[i], b.bits[i], a.width()), second.width());
  }
  machine.define(op->getResult(0), std::move(first));
  machine.define(op->getResult(1), std::move(second));
  return true;
}

bool addExtended(Interpreter &machine, Operation *op) {
  return extended(machine, op, std::plus<uint64_t>(), [](uint64_t a, uint64_t b, unsigned width) {
    return uint64_t(((unsigned __int128)a + b) >> width);
  });
}

bool multiplyUnsignedExtended(Interpreter &machine, Operation *op) {
  return extended(machine, op, std::multiplies<uint64_t>(), [](uint64_t a, uint64_t b, unsigned width) {
    return uint64_t((unsigned __int128)a * b >> width);
  });
}

bool multiplySignedExtended(Interpreter &machine, Operation *op) {
  return extended(machine, op, std::multiplies<uint64_t>(), [](uint64_t a, uint64_t b, unsigned width) {
    return uint64_t((__int128)signExtend(a, width) * signExtend(b, width) >> width);
  });
}

} // namespace

void addIntegers(Table &table) {
#define UNSIGNED(name, value)                                                                                \
  table[name] = [](Interpreter &machine, Operation *op) {                                                    \
    return mapIntegers(machine, op, [](uint64_t a, uint64_t b, unsigned width) { return uint64_t(value); }); \
  }
#define SIGNED(name, value)                                                                                  \
  table[name] = [](Interpreter &machine, Operation *op) {                                                    \
    return mapSigned(machine, op, [](int64_t a, int64_t b, unsigned width) { return value; });               \
  }
#define UNARY(name, value)                                                                                   \
  table[name] = [](Interpreter &machine, Operation *op) {                                                    \
    return mapIntegers(machine, op, [](uint64_t a, unsigned width) { return uint64_t(value); });             \
  }
  UNSIGNED("arith.addi", a + b);
  UNSIGNED("arith.subi", a - b);
  UNSIGNED("arith.muli", a * b);
  UNSIGNED("arith.andi", a & b);
  UNSIGNED("arith.ori", a | b);
  UNSIGNED("arith.xori", a ^ b);
  UNSIGNED("arith.divui", b == 0 ? 0 : a / b);
  UNSIGNED("arith.remui", b == 0 ? 0 : a % b);
  UNSIGNED("arith.ceildivui", b == 0 ? 0 : a / b + (a % b != 0));
  UNSIGNED("arith.shli", b >= width ? 0 : a << b);
  UNSIGNED("arith.shrui", b >= width ? 0 : a >> b);
  UNSIGNED("arith.shrsi", signExtend(a, width) >> std::min<uint64_t>(b, width - 1));
  UNSIGNED("arith.maxui", std::max(a, b));
  UNSIGNED("arith.minui", std::min(a, b));
  SIGNED("arith.divsi", quotient(a, b));
  SIGNED("arith.remsi", remainder(a, b));
  SIGNED("arith.floordivsi", floorQuotient(a, b));
  SIGNED("arith.ceildivsi", ceilQuotient(a, b));
  SIGNED("arith.maxsi", std::max(a, b));
  SIGNED("arith.minsi", std::min(a, b));
  SIGNED("math.ipowi", power(a, b));
  UNARY("math.absi", signExtend(a, width) < 0 ? 0 - a : a);
  UNARY("math.ctlz", std::countl_zero(a) - (64 - int(width)));
  UNARY("math.cttz", std::min(std::countr_zero(a), int(width)));
  UNARY("math.ctpop", std::popcount(a));
#undef UNSIGNED
#undef SIGNED
#undef UNARY
  table["arith.cmpi"] = compareIntegers;
  table["arith.addui_extended"] = addExtended;
  table["arith.mului_extended"] = multiplyUnsignedExtended;
  table["arith.mulsi_extended"] = multiplySignedExtended;
}

} // namespace tegula::interp
