// tl's math functions. Upstream has most of them for fp32 and fp64 only.
#include "sema/builtins/Call.h"

namespace tegula::sema::builtins {
namespace arith = mlir::arith;
namespace math = mlir::math;

namespace {

template <class Op> std::optional<Value> realFunction(Call &call) {
  auto x = call.tensor(0);
  if (!x)
    return std::nullopt;
  if (x->type.pointer || !isFloat(x->type.element))
    return call.fail(diag::Kind::BuiltinDType, {"a float", spelling(x->type)});
  return emitReal<Op>(call.session, *x);
}

} // namespace

std::optional<Value> call_exp(Call &call) { return realFunction<math::ExpOp>(call); }
std::optional<Value> call_exp2(Call &call) { return realFunction<math::Exp2Op>(call); }
std::optional<Value> call_log(Call &call) { return realFunction<math::LogOp>(call); }
std::optional<Value> call_log2(Call &call) { return realFunction<math::Log2Op>(call); }
std::optional<Value> call_cos(Call &call) { return realFunction<math::CosOp>(call); }
std::optional<Value> call_sin(Call &call) { return realFunction<math::SinOp>(call); }
std::optional<Value> call_sqrt(Call &call) { return realFunction<math::SqrtOp>(call); }
std::optional<Value> call_rsqrt(Call &call) { return realFunction<math::RsqrtOp>(call); }
std::optional<Value> call_erf(Call &call) { return realFunction<math::ErfOp>(call); }
std::optional<Value> call_floor(Call &call) { return realFunction<math::FloorOp>(call); }
std::optional<Value> call_ceil(Call &call) { return realFunction<math::CeilOp>(call); }

std::optional<Value> call_sqrt_rn(Call &call) {
  auto x = call.tensor(0);
  if (x && (x->type.pointer || x->type.element != DType::F32))
    return call.fail(diag::Kind::BuiltinDType, {"fp32", spelling(x->type)});
  return x ? std::optional<Value>(emit<tile::PreciseSqrtOp>(call.session, x->type, x->value)) : std::nullopt;
}

std::optional<Value> call_abs(Call &call) {
  auto x = call.tensor(0);
  if (!x)
    return std::nullopt;
  if (x->type.pointer)
    return call.fail(diag::Kind::BuiltinDType, {"a number", spelling(x->type)});
  if (isFloat(x->type.element))
    return emitFloat<math::AbsFOp>(call.session, *x);
  return isSigned(x->type.element) ? emit<math::AbsIOp>(call.session, x->type, x->value) : *x;
}

std::optional<Value> call_fma(Call &call) {
  Session &session = call.session;
  std::string op = call.row.display();
  auto xy = unifyOperands(session, op, call[0], call[1], {.numbersPromote = true});
  auto xz = xy ? unifyOperands(session, op, xy->first, call[2], {.numbersPromote = true}) : std::nullopt;
  auto yz = xz ? unifyOperands(session, op, xy->second, xz->second) : std::nullopt;
  if (!yz)
    return std::nullopt;
  // z may have widened x, and y with it.
  auto x = unifyOperands(session, op, xz->first, yz->first);
  if (!x)
    return std::nullopt;
  if (!isFloat(x->first.type.element))
    return call.fail(diag::Kind::FloatsOnly, {spelling(x->first.type)});
  return emitFloat<math::FmaOp>(session, x->first, x->second, yz->second);
}

std::optional<Value> call_fdiv(Call &call) {
  auto operands = unifyOperands(call.session, call.row.display(), call[0], call[1]);
  enum { X, Y, IeeeRounding, Approx };
  auto ieee = operands ? call.flag(IeeeRounding) : std::nullopt;
  auto approx = ieee ? call.flag(Approx) : std::nullopt;
  if (!approx)
    return std::nullopt;
  auto &[x, y] = *operands;
  if (!isFloat(x.type.element))
    return call.fail(diag::Kind::FloatsOnly, {spelling(x.type)});
  if (*approx && *ieee)
    return call.wrong(Approx, "False where `ieee_rounding` is True");
  if (*approx && x.type.element != DType::F32)
    return call.fail(diag::Kind::BuiltinDType, {"fp32 where `approx` is True", spelling(x.type)});
  return *ieee ? emitFloat<tile::PreciseDivFOp>(call.session, x, y)
               : emitFloat<arith::DivFOp>(call.session, x, y);
}

std::optional<Value> call_div_rn(Call &call) {
  auto operands = unifyOperands(call.session, call.row.display(), call[0], call[1], {.numbersPromote = true});
  if (!operands)
    return std::nullopt;
  auto &[x, y] = *operands;
  if (x.type.element != DType::F32)
    return call.fail(diag::Kind::BuiltinDType, {"fp32", spelling(x.type)});
  return emit<tile::PreciseDivFOp>(call.session, x.type, x.value, y.value);
}

} // namespace tegula::sema::builtins
