// The functions of Libdevice.def. Operands are promoted to one type, a float; what is narrower than fp32 is
// computed in fp32 and rounded once.
#include "sema/builtins/Call.h"

#include <bit>
#include <limits>

namespace tegula::sema::builtins {
namespace arith = mlir::arith;
namespace math = mlir::math;
using CompareOp = syntax::CompareOperator;

namespace {

std::optional<Tensor> realOperand(Call &call, size_t i) {
  auto x = call.tensor(i);
  if (x && (x->type.pointer || !isFloat(x->type.element)))
    return call.fail(diag::Kind::BuiltinDType, {"a float", spelling(x->type)});
  return x;
}

std::optional<Pair> realOperands(Call &call) {
  auto operands = unifyOperands(call.session, call.row.display(), call[0], call[1]);
  if (operands && !isFloat(operands->first.type.element))
    return call.fail(diag::Kind::BuiltinDType, {"a float", spelling(operands->first.type)});
  return operands;
}

// An op that a target may compute by approximate instructions (math-functions.md, "Fast functions").
template <class Op> struct Fast {
  template <class... Arguments> static Op create(Arguments &&...arguments) {
    Op op = Op::create(std::forward<Arguments>(arguments)...);
    op.setFastmath(arith::FastMathFlags::afn);
    return op;
  }
};

template <class Op> std::optional<Value> unaryFunction(Call &call) {
  auto x = realOperand(call, 0);
  return x ? std::optional<Value>(emitReal<Op>(call.session, *x)) : std::nullopt;
}

template <class Op> std::optional<Value> binaryFunction(Call &call) {
  auto operands = realOperands(call);
  if (!operands)
    return std::nullopt;
  auto &[x, y] = *operands;
  return emitReal<Op>(call.session, x, y);
}

std::optional<Value> reinterpret(Call &call, DType from, DType to) {
  auto x = call.tensor(0);
  if (x && (x->type.pointer || x->type.element != from))
    return call.fail(diag::Kind::BuiltinDType, {std::string(name(from)), spelling(x->type)});
  auto result = x ? bitcastTo(call.session, *x, Type{to}) : std::nullopt;
  return result ? std::optional<Value>(*result) : std::nullopt;
}

Tensor fill(Session &session, const Tensor &like, double value) {
  return literalTile(session, Const{value}, like.type.element, like.type.shape);
}

// |x| <op> infinity
std::optional<Value> againstInfinity(Call &call, CompareOp op) {
  auto x = realOperand(call, 0);
  if (!x)
    return std::nullopt;
  Tensor magnitude = emitFloat<math::AbsFOp>(call.session, *x);
  return emitCompare(call.session, op, magnitude,
                     fill(call.session, *x, std::numeric_limits<double>::infinity()));
}

template <class Round> std::optional<Value> roundToInt64(Call &call) {
  auto x = realOperand(call, 0);
  auto result = x ? cast(call.session, emitReal<Round>(call.session, *x), DType::I64) : std::nullopt;
  return result ? std::optional<Value>(*result) : std::nullopt;
}

template <class Op> std::optional<Value> countBits(Call &call) {
  auto x = call.tensor(0);
  if (!x)
    return std::nullopt;
  if (x->type.pointer || isFloat(x->type.element) || bitWidth(x->type.element) < 32)
    return call.fail(diag::Kind::BuiltinDType, {"int32 or int64", spelling(x->type)});
  return *cast(call.session, emit<Op>(call.session, x->type, x->value), DType::I32);
}

// The operands as tensors of one type; a number takes the type of the others.
std::optional<std::vector<Tensor>> directedOperands(Call &call) {
  std::vector<Value> values(call.values.begin(), call.values.end());
  for (Value &value : values)
    if (value.isScalar && isNumber(value)) {
      auto scalar = toTensor(call.session, value);
      if (!scalar)
        return std::nullopt;
      value = *scalar;
    }
  DType element = DType::F32;
  for (size_t i = 0; i < values.size(); ++i)
    if (!isNumber(values[i])) {
      auto operand = realOperand(call, i);
      if (!operand)
        return std::nullopt;
      element = operand->type.element;
    }
  std::vector<Tensor> operands;
  for (const Value &value : values)
    operands.push_back(isNumber(value) ? literalTile(call.session, *value.constant(), element, {})
                                       : *value.tensor());
  // Twice: the last ones may widen the first.
  for (size_t step = 0; operands.size() > 1 && step < 2 * operands.size() - 2; ++step) {
    size_t i = step % (operands.size() - 1);
    auto pair = unifyOperands(call.session, call.row.display(), operands[i], operands[i + 1]);
    if (!pair)
      return std::nullopt;
    operands[i] = pair->first, operands[i + 1] = pair->second;
  }
  return operands;
}

// Narrower floats are computed in fp32 and rounded once more, in the same direction: that is as if once.
std::optional<Value> directed(Call &call, tile::DirectedKind kind, tile::Direction direction,
                              llvm::SmallVector<Tensor, 3> operands) {
  Session &session = call.session;
  Tensor narrow = operands[0];
  const bool isNarrow = bitWidth(narrow.type.element) < 32;
  llvm::SmallVector<mlir::Value, 3> values;
  for (const Tensor &operand : operands)
    values.push_back(isNarrow ? cast(session, operand, DType::F32)->value : operand.value);
  Type type = isNarrow ? narrow.type.withElement(DType::F32) : narrow.type;
  Tensor result = emit<tile::DirectedOp>(session, type, kind, direction, values);
  if (!isNarrow)
    return result;
  std::vector<Value> arguments = {result, narrow, Const{stringifyDirection(direction).str()}};
  return session.functions.callFunction(*findLibraryFunction("narrowed_in_direction"), arguments, {});
}

using DirectedKind = tile::DirectedKind;
using Direction = tile::Direction;

std::optional<Value> directedOf(Call &call, DirectedKind kind, Direction direction) {
  auto operands = directedOperands(call);
  return operands ? directed(call, kind, direction, {operands->begin(), operands->end()}) : std::nullopt;
}

std::optional<Value> directed_add(Call &call, Direction direction) {
  return directedOf(call, DirectedKind::Add, direction);
}
std::optional<Value> directed_mul(Call &call, Direction direction) {
  return directedOf(call, DirectedKind::Mul, direction);
}
std::optional<Value> directed_fma(Call &call, Direction direction) {
  return directedOf(call, DirectedKind::Fma, direction);
}
std::optional<Value> directed_div(Call &call, Direction direction) {
  return directedOf(call, DirectedKind::Div, direction);
}
std::optional<Value> directed_sqrt(Call &call, Direction direction) {
  return directedOf(call, DirectedKind::Sqrt, direction);
}
std::optional<Value> directed_sub(Call &call, Direction direction) {
  auto operands = directedOperands(call);
  if (!operands)
    return std::nullopt;
  Tensor negative = emitFloat<arith::NegFOp>(call.session, operands->back());
  return directed(call, DirectedKind::Add, direction, {operands->front(), negative});
}
std::optional<Value> directed_rcp(Call &call, Direction direction) {
  auto operands = directedOperands(call);
  if (!operands)
    return std::nullopt;
  const Tensor &x = operands->front();
  return directed(call, DirectedKind::Div, direction, {fill(call.session, x, 1), x});
}

// A float, or an integer where the function takes such.
std::optional<Tensor> numberOf(Call &call, bool isReal) {
  auto x = call.tensor(0);
  if (x && (x->type.pointer || isFloat(x->type.element) != isReal))
    return call.fail(diag::Kind::BuiltinDType, {isReal ? "floats" : "integers", spelling(x->type)});
  return x;
}

std::optional<Value> directed_double2float(Call &call, Direction direction) {
  auto x = numberOf(call, true);
  if (!x)
    return std::nullopt;
  Session &session = call.session;
  Tensor wide = *cast(session, *x, DType::F64), like = fill(session, *cast(session, wide, DType::F32), 0);
  std::vector<Value> arguments = {wide, like, Const{stringifyDirection(direction).str()}};
  return session.functions.callFunction(*findLibraryFunction("narrowed_in_direction"), arguments, {});
}

// By a function of the library, in a direction: to nearest, to 0, down or up.
std::optional<Value> converted(Call &call, std::string_view function, DType from, DType to,
                               std::string_view direction) {
  auto x = numberOf(call, isFloat(from));
  if (!x)
    return std::nullopt;
  std::vector<Value> arguments = {*x, Const{TypeRef{from}}, Const{TypeRef{to}},
                                  Const{std::string(direction)}};
  return call.session.functions.callFunction(*findLibraryFunction(function), arguments, {});
}

} // namespace

#define CONVERTED(name, function, from, to, direction)                                                       \
  std::optional<Value> libdevice_##name##_##direction(Call &call) {                                          \
    return converted(call, #function, DType::from, DType::to, #direction);                                   \
  }
#define CONVERSION(name, function, from, to)                                                                 \
  CONVERTED(name, function, from, to, rn)                                                                    \
  CONVERTED(name, function, from, to, rz)                                                                    \
  CONVERTED(name, function, from, to, rd)                                                                    \
  CONVERTED(name, function, from, to, ru)
#define UNARY(name, Op)                                                                                      \
  std::optional<Value> libdevice_##name(Call &call) { return unaryFunction<Op>(call); }
#define BINARY(name, Op)                                                                                     \
  std::optional<Value> libdevice_##name(Call &call) { return binaryFunction<Op>(call); }
#define TERNARY(name, Op)                                                                                    \
  std::optional<Value> libdevice_##name(Call &call) { return call_fma(call); }
#define SPECIAL(name, parameters)
#define DIRECTED(name, parameters)                                                                           \
  std::optional<Value> libdevice_##name##_rz(Call &call) {                                                   \
    return directed_##name(call, Direction::TowardZero);                                                     \
  }                                                                                                          \
  std::optional<Value> libdevice_##name##_rd(Call &call) { return directed_##name(call, Direction::Down); }  \
  std::optional<Value> libdevice_##name##_ru(Call &call) { return directed_##name(call, Direction::Up); }
#define WRITTEN(name, parameters)
#define WIDENED(name, parameters)
std::optional<Value> call_fma(Call &call);
#include "sema/builtins/Libdevice.def"
#undef UNARY
#undef BINARY
#undef TERNARY
#undef SPECIAL
#undef DIRECTED
#undef WRITTEN
#undef WIDENED
#undef CONVERSION
#undef CONVERTED

std::optional<Value> libdevice_abs(Call &call) {
  auto x = call.tensor(0);
  if (x && !x->type.pointer && (x->type.element == DType::I32 || x->type.element == DType::I64))
    return emit<math::AbsIOp>(call.session, x->type, x->value);
  return x ? unaryFunction<math::AbsFOp>(call) : std::nullopt;
}

// An integer exponent is promoted like any operand.
std::optional<Value> libdevice_pow(Call &call) { return binaryFunction<math::PowFOp>(call); }
std::optional<Value> libdevice_fast_powf(Call &call) { return binaryFunction<Fast<math::PowFOp>>(call); }

std::optional<Value> libdevice_fast_exp10f(Call &call) {
  auto x = realOperand(call, 0);
  if (!x)
    return std::nullopt;
  return emitReal<Fast<math::PowFOp>>(call.session, fill(call.session, *x, 10), *x);
}

// Sums and products that round on their own (N10): a fused operation is never contracted with another one.
std::optional<Value> libdevice_add_rn(Call &call) {
  auto operands = realOperands(call);
  if (!operands)
    return std::nullopt;
  auto &[x, y] = *operands;
  return emit<math::FmaOp>(call.session, x.type, x.value, fill(call.session, x, 1).value, y.value);
}

std::optional<Value> libdevice_sub_rn(Call &call) {
  auto operands = realOperands(call);
  if (!operands)
    return std::nullopt;
  auto &[x, y] = *operands;
  Tensor negative = emit<arith::NegFOp>(call.session, y.type, y.value);
  return emit<math::FmaOp>(call.session, x.type, x.value, fill(call.session, x, 1).value, negative.value);
}

std::optional<Value> libdevice_mul_rn(Call &call) {
  auto operands = realOperands(call);
  if (!operands)
    return std::nullopt;
  auto &[x, y] = *operands;
  return emit<math::FmaOp>(call.session, x.type, x.value, y.value, fill(call.session, x, -0.0).value);
}

// x - y where x > y, else 0; NaN stays.
std::optional<Value> libdevice_fdim(Call &call) {
  auto operands = realOperands(call);
  if (!operands)
    return std::nullopt;
  auto &[x, y] = *operands;
  Tensor difference = emitFloat<arith::SubFOp>(call.session, x, y);
  Tensor notAbove = emitCompare(call.session, CompareOp::Le, x, y);
  return emit<arith::SelectOp>(call.session, x.type, notAbove.value, fill(call.session, x, 0).value,
                               difference.value);
}

std::optional<Value> libdevice_isnan(Call &call) {
  auto x = realOperand(call, 0);
  return x ? std::optional<Value>(emitCompare(call.session, CompareOp::Ne, *x, *x)) : std::nullopt;
}

std::optional<Value> libdevice_isinf(Call &call) { return againstInfinity(call, CompareOp::Eq); }
std::optional<Value> libdevice_finitef(Call &call) { return againstInfinity(call, CompareOp::Lt); }
std::optional<Value> libdevice_isfinited(Call &call) { return againstInfinity(call, CompareOp::Lt); }

std::optional<Value> libdevice_signbit(Call &call) {
  auto x = realOperand(call, 0);
  if (!x)
    return std::nullopt;
  static constexpr DType integers[] = {DType::I8, DType::I16, DType::I32, DType::I64};
  DType integer = integers[std::countr_zero(bitWidth(x->type.element) / 8)];
  Tensor bits = *bitcastTo(call.session, *x, Type{integer});
  Tensor zero = literalTile(call.session, makeInt(0), bits.type.element, bits.type.shape);
  return *cast(call.session, emitCompare(call.session, CompareOp::Lt, bits, zero), DType::I32);
}

std::optional<Value> libdevice_llrint(Call &call) { return roundToInt64<math::RoundEvenOp>(call); }
std::optional<Value> libdevice_llround(Call &call) { return roundToInt64<math::RoundOp>(call); }
std::optional<Value> libdevice_clz(Call &call) { return countBits<math::CountLeadingZerosOp>(call); }
std::optional<Value> libdevice_popc(Call &call) { return countBits<math::CtPopOp>(call); }

std::optional<Value> call_umulhi(Call &call);
std::optional<Value> libdevice_umulhi(Call &call) { return call_umulhi(call); }

std::optional<Value> libdevice_float_as_int(Call &call) { return reinterpret(call, DType::F32, DType::I32); }
std::optional<Value> libdevice_int_as_float(Call &call) { return reinterpret(call, DType::I32, DType::F32); }
std::optional<Value> libdevice_float_as_uint(Call &call) { return reinterpret(call, DType::F32, DType::I32); }
std::optional<Value> libdevice_uint_as_float(Call &call) { return reinterpret(call, DType::U32, DType::F32); }
std::optional<Value> libdevice_double_as_longlong(Call &call) {
  return reinterpret(call, DType::F64, DType::I64);
}
std::optional<Value> libdevice_longlong_as_double(Call &call) {
  return reinterpret(call, DType::I64, DType::F64);
}

} // namespace tegula::sema::builtins
