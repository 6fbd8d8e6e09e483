// Floating-point arithmetic, comparisons and selection, and the dialect's own elementwise ops.
#include "interp/Maps.h"

#include <cmath>

namespace tegula::interp {

namespace {

using mlir::Operation;
namespace arith = mlir::arith;

bool constant(Interpreter &machine, Operation *op) {
  Tile tile = Interpreter::make(op->getResult(0).getType());
  auto bitsOf = [&](mlir::Attribute value) -> std::optional<uint64_t> {
    if (auto integer = mlir::dyn_cast<mlir::IntegerAttr>(value))
      return truncate(integer.getValue().sextOrTrunc(64).getZExtValue(), tile.width());
    if (auto real = mlir::dyn_cast<mlir::FloatAttr>(value))
      return real.getValue().bitcastToAPInt().getZExtValue();
    return std::nullopt;
  };
  mlir::Attribute value = mlir::cast<arith::ConstantOp>(op).getValue();
  auto dense = mlir::dyn_cast<mlir::DenseElementsAttr>(value);
  bool known = true;
  auto put = [&](size_t i, mlir::Attribute element) {
    std::optional<uint64_t> bits = bitsOf(element);
    known &= bits.has_value();
    tile.bits[i] = bits.value_or(0);
  };
  if (dense && dense.isSplat() && !tile.bits.empty()) {
    put(0, dense.getSplatValue<mlir::Attribute>());
    std::fill(tile.bits.begin(), tile.bits.end(), tile.bits[0]);
  } else if (dense) {
    for (auto [i, element] : llvm::enumerate(dense.getValues<mlir::Attribute>()))
      put(i, element);
  } else {
    put(0, value);
  }
  if (!known)
    return machine.fail(op, StatusCode::Unsupported, "the interpreter does not know this kind of constant");
  machine.define(op->getResult(0), std::move(tile));
  return true;
}

// IEEE 754-2019 maximum and minimum: NaN if either is, -0 below +0.
double maximum(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return NAN;
  return a > b || (a == b && !std::signbit(a)) ? a : b;
}
double minimum(double a, double b) { return -maximum(-a, -b); }
// The same, but a NaN is passed over when the other is a number.
double maximumNumber(double a, double b) { return std::isnan(a) ? b : std::isnan(b) ? a : maximum(a, b); }
double minimumNumber(double a, double b) { return std::isnan(a) ? b : std::isnan(b) ? a : minimum(a, b); }

template <class F> bool compareWith(Interpreter &machine, Operation *op, F f) {
  const Tile &a = machine.operand(op, 0), &b = machine.operand(op, 1);
  return mapElements(machine, op, [&](size_t i) { return uint64_t(f(a.asDouble(i), b.asDouble(i))); });
}

bool compareFloats(Interpreter &machine, Operation *op) {
  auto unordered = [](double a, double b) { return std::isnan(a) || std::isnan(b); };
  auto with = [&](auto f) { return compareWith(machine, op, f); };
  using P = arith::CmpFPredicate;
  switch (mlir::cast<arith::CmpFOp>(op).getPredicate()) {
  case P::AlwaysFalse: return with([](double, double) { return false; });
  case P::AlwaysTrue: return with([](double, double) { return true; });
  case P::OEQ: return with([](double a, double b) { return a == b; });
  case P::OGT: return with([](double a, double b) { return a > b; });
  case P::OGE: return with([](double a, double b) { return a >= b; });
  case P::OLT: return with([](double a, double b) { return a < b; });
  case P::OLE: return with([](double a, double b) { return a <= b; });
  case P::ONE: return with([=](double a, double b) { return !unordered(a, b) && a != b; });
  case P::ORD: return with([=](double a, double b) { return !unordered(a, b); });
  case P::UEQ: return with([=](double a, double b) { return unordered(a, b) || a == b; });
  case P::UGT: return with([](double a, double b) { return !(a <= b); });
  case P::UGE: return with([](double a, double b) { return !(a < b); });
  case P::ULT: return with([](double a, double b) { return !(a >= b); });
  case P::ULE: return with([](double a, double b) { return !(a > b); });
  case P::UNE: return with([](double a, double b) { return a != b; });
  case P::UNO: return with([=](double a, double b) { return unordered(a, b); });
  }
  return false;
}

// The condition is a tile of the same shape or one scalar for all.
bool select(Interpreter &machine, Operation *op) {
  const Tile &condition = machine.operand(op, 0), &yes = machine.operand(op, 1), &no = machine.operand(op, 2);
  const size_t step = condition.shape.empty() ? 0 : 1;
  return mapElements(machine, op,
                     [&](size_t i) { return condition.bits[i * step] ? yes.bits[i] : no.bits[i]; });
}

} // namespace

void addElementwise(Table &table) {
  table["arith.constant"] = constant;
  table["arith.select"] = select;
  table["arith.cmpf"] = compareFloats;
#define FLOATS(name, parameters, value)                                                                      \
  table[name] = [](Interpreter &machine, Operation *op) {                                                    \
    return mapFloats(machine, op, [] parameters { return value; });                                          \
  }
  FLOATS("arith.addf", (double a, double b), a + b);
  FLOATS("arith.subf", (double a, double b), a - b);
  FLOATS("arith.mulf", (double a, double b), a * b);
  FLOATS("arith.divf", (double a, double b), a / b);
  FLOATS("arith.remf", (double a, double b), std::fmod(a, b));
  FLOATS("arith.maximumf", (double a, double b), maximum(a, b));
  FLOATS("arith.minimumf", (double a, double b), minimum(a, b));
  FLOATS("arith.maxnumf", (double a, double b), maximumNumber(a, b));
  FLOATS("arith.minnumf", (double a, double b), minimumNumber(a, b));
#undef FLOATS
  table["arith.negf"] = [](Interpreter &machine, Operation *op) {
    return mapIntegers(machine, op, [](uint64_t a, unsigned width) { return a ^ signBit(width); });
  };
}

template <> bool execute(Interpreter &machine, tile::PreciseSqrtOp op) {
  return mapFloats(machine, op, [](double a) { return std::sqrt(a); });
}

template <> bool execute(Interpreter &machine, tile::PreciseDivFOp op) {
  return mapFloats(machine, op, [](double a, double b) { return a / b; });
}

template <> bool execute(Interpreter &machine, tile::DirectedOp op) {
  llvm::RoundingMode rounding =
      op.getDirection() == tile::Direction::TowardZero ? llvm::RoundingMode::TowardZero
      : op.getDirection() == tile::Direction::Up       ? llvm::RoundingMode::TowardPositive
                                                       : llvm::RoundingMode::TowardNegative;
  llvm::SmallVector<const Tile *, 3> tiles;
  for (unsigned i = 0; i != op->getNumOperands(); ++i)
    tiles.push_back(&machine.operand(op, i));
  llvm::SmallVector<uint64_t, 3> operands(tiles.size());
  return mapElements(machine, op, [&](size_t i) {
    for (auto [operand, tile] : llvm::zip(operands, tiles))
      operand = tile->bits[i];
    return arithmetic(tiles[0]->element, op.getKind(), operands, rounding);
  });
}

// Without propagateNan a NaN gives `min`, as upstream's min(max(x, min), max) does.
template <> bool execute(Interpreter &machine, tile::ClampFOp op) {
  const bool propagate = op.getPropagateNan();
  return mapFloats(machine, op, [=](double value, double low, double high) {
    if (propagate && std::isnan(value))
      return value;
    return minimumNumber(maximumNumber(value, low), high);
  });
}

template <> bool execute(Interpreter &machine, tile::MulhiUIOp op) {
  return mapIntegers(machine, op, [](uint64_t a, uint64_t b, unsigned width) {
    return uint64_t((unsigned __int128)a * b >> width);
  });
}

template <> bool execute(Interpreter &machine, tile::BitcastOp op) {
  const Tile &value = machine.value(op.getValue());
  return mapElements(machine, op, [&](size_t i) { return value.bits[i]; });
}

template <> bool execute(Interpreter &machine, tile::FpToFpOp op) {
  const auto rounding = op.getRounding() == tile::Rounding::RTZ ? llvm::RoundingMode::TowardZero
                                                                : llvm::RoundingMode::NearestTiesToEven;
  const Tile &value = machine.value(op.getValue());
  const Element to = *elementOf(op.getType());
  return mapElements(machine, op, [&](size_t i) { return encode(to, value.asDouble(i), rounding); });
}

template <> bool execute(Interpreter &machine, tile::ElementwiseInlineAsmOp op) {
  return machine.fail(op, StatusCode::Unsupported,
                      "inline assembly runs on the machine it is written for; the interpreter is no machine");
}

template <> bool execute(Interpreter &machine, tile::ExternElementwiseOp op) {
  return machine.fail(op, StatusCode::Unsupported,
                      "a function of a library is machine code, which the interpreter does not run");
}

} // namespace tegula::interp
