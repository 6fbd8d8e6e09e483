// The functions of Libdevice.def. Operands are promoted to one type, which must be fp32 or
// fp64; nothing else is converted.
#include "sema/builtins/Call.h"

#include <limits>

namespace tegula::sema::builtins {
namespace arith = mlir::arith;
namespace math = mlir::math;
using CompareOp = syntax::CompareOperator;

namespace {

std::optional<Tensor> realOperand(Call &call, size_t i) {
  auto x = call.tensor(i);
  if (x && (x->type.pointer || (x->type.element != DType::F32 && x->type.element != DType::F64)))
    return call.fail(diag::Kind::BuiltinDType, {"fp32 or fp64", spelling(x->type)});
  return x;
}

std::optional<Pair> realOperands(Call &call) {
  auto operands = unifyOperands(call.session, call.row.display(), call[0], call[1]);
  if (operands && operands->first.type.element != DType::F32 && operands->first.type.element != DType::F64)
    return call.fail(diag::Kind::BuiltinDType, {"fp32 or fp64", spelling(operands->first.type)});
  return operands;
}

template <class Op> std::optional<Value> unaryFunction(Call &call) {
  auto x = realOperand(call, 0);
  return x ? std::optional<Value>(emit<Op>(call.session, x->type, x->value)) : std::nullopt;
}

template <class Op> std::optional<Value> binaryFunction(Call &call) {
  auto operands = realOperands(call);
  if (!operands)
    return std::nullopt;
  auto &[x, y] = *operands;
  return emit<Op>(call.session, x.type, x.value, y.value);
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
  Tensor magnitude = emit<math::AbsFOp>(call.session, x->type, x->value);
  return emitCompare(call.session, op, magnitude,
                     fill(call.session, *x, std::numeric_limits<double>::infinity()));
}

template <class Round> std::optional<Value> roundToInt64(Call &call) {
  auto x = realOperand(call, 0);
  auto result =
      x ? cast(call.session, emit<Round>(call.session, x->type, x->value), DType::I64) : std::nullopt;
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

} // namespace

#define UNARY(name, Op)                                                                                      \
  std::optional<Value> libdevice_##name(Call &call) { return unaryFunction<Op>(call); }
#define BINARY(name, Op)                                                                                     \
  std::optional<Value> libdevice_##name(Call &call) { return binaryFunction<Op>(call); }
#define TERNARY(name, Op)                                                                                    \
  std::optional<Value> libdevice_##name(Call &call) { return call_fma(call); }
#define SPECIAL(name, parameters)
#define WRITTEN(name, parameters)
#define MISSING(name)
std::optional<Value> call_fma(Call &call);
#include "sema/builtins/Libdevice.def"
#undef UNARY
#undef BINARY
#undef TERNARY
#undef SPECIAL
#undef WRITTEN
#undef MISSING

std::optional<Value> libdevice_abs(Call &call) {
  auto x = call.tensor(0);
  if (x && !x->type.pointer && (x->type.element == DType::I32 || x->type.element == DType::I64))
    return emit<math::AbsIOp>(call.session, x->type, x->value);
  return x ? unaryFunction<math::AbsFOp>(call) : std::nullopt;
}

// An integer exponent is promoted like any operand.
std::optional<Value> libdevice_pow(Call &call) { return binaryFunction<math::PowFOp>(call); }
std::optional<Value> libdevice_fast_powf(Call &call) { return binaryFunction<math::PowFOp>(call); }

// x - y where x > y, else 0; NaN stays.
std::optional<Value> libdevice_fdim(Call &call) {
  auto operands = realOperands(call);
  if (!operands)
    return std::nullopt;
  auto &[x, y] = *operands;
  Tensor difference = emit<arith::SubFOp>(call.session, x.type, x.value, y.value);
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
  Tensor bits = *bitcastTo(call.session, *x, Type{x->type.element == DType::F32 ? DType::I32 : DType::I64});
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
