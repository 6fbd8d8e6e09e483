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

// A function of sema/library/directed.py, whose last parameter is the direction.
std::optional<Value> directed(Call &call, std::string_view function, const char *direction) {
  std::vector<Value> arguments(call.values.begin(), call.values.end());
  DType element = DType::F32;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (!isNumber(arguments[i])) {
      auto operand = realOperand(call, i);
      if (!operand)
        return std::nullopt;
      element = operand->type.element;
    }
  for (Value &argument : arguments) // a number takes the type of the others
    if (isNumber(argument))
      argument = literalTile(call.session, *argument.constant(), element, {});
  arguments.push_back(Const{std::string(direction)});
  return call.session.functions.callFunction(*findLibraryFunction(function), arguments, {});
}

} // namespace

#define UNARY(name, Op)                                                                                      \
  std::optional<Value> libdevice_##name(Call &call) { return unaryFunction<Op>(call); }
#define BINARY(name, Op)                                                                                     \
  std::optional<Value> libdevice_##name(Call &call) { return binaryFunction<Op>(call); }
#define TERNARY(name, Op)                                                                                    \
  std::optional<Value> libdevice_##name(Call &call) { return call_fma(call); }
#define SPECIAL(name, parameters)
#define DIRECTED(name, parameters)                                                                           \
  std::optional<Value> libdevice_##name##_rz(Call &call) { return directed(call, "directed_" #name, "rz"); } \
  std::optional<Value> libdevice_##name##_rd(Call &call) { return directed(call, "directed_" #name, "rd"); } \
  std::optional<Value> libdevice_##name##_ru(Call &call) { return directed(call, "directed_" #name, "ru"); }
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

std::optional<Value> libdevice_abs(Call &call) {
  auto x = call.tensor(0);
  if (x && !x->type.pointer && (x->type.element == DType::I32 || x->type.element == DType::I64))
    return emit<math::AbsIOp>(call.session, x->type, x->value);
  return x ? unaryFunction<math::AbsFOp>(call) : std::nullopt;
}

// An integer exponent is promoted like any operand.
std::optional<Value> libdevice_pow(Call &call) { return binaryFunction<math::PowFOp>(call); }
std::optional<Value> libdevice_fast_powf(Call &call) { return binaryFunction<math::PowFOp>(call); }

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
std::optional<Value> libdevice_float_as_uint(Call &call) { return reinterpret(call, DType::F32, DType::U32); }
std::optional<Value> libdevice_uint_as_float(Call &call) { return reinterpret(call, DType::U32, DType::F32); }
std::optional<Value> libdevice_double_as_longlong(Call &call) {
  return reinterpret(call, DType::F64, DType::I64);
}
std::optional<Value> libdevice_longlong_as_double(Call &call) {
  return reinterpret(call, DType::I64, DType::F64);
}

} // namespace tegula::sema::builtins
