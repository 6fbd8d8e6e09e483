// Tiles from nothing: ranges and constants.
#include "sema/Hints.h"
#include "sema/builtins/Call.h"

namespace tegula::sema::builtins {
namespace {

bool fitsInt32(int64_t value) { return value >= INT32_MIN && value <= INT32_MAX; }

// A number in `type`, of an integer the low bits: masks of bits are written so. An unsigned type takes none
// below zero.
std::optional<Tensor> wrappedNumber(Call &call, size_t i, DType type) {
  Const number = *call[i].constant();
  auto *integer = std::get_if<llvm::APInt>(&number.value);
  if (!integer || isFloat(type) || fits(*integer, type))
    return literal(call.session, number, type);
  DType widest = isUnsigned(type) ? DType::U64 : DType::I64;
  if (!fits(*integer, widest)) {
    call.session.fail(diag::Kind::ScalarOutOfRange, {repr(number), name(type)});
    setHint(call.session, diag::Kind::ScalarOutOfRange,
            "a number keeps its low bits if it is one of " + std::string(name(widest)) +
                "; take another dtype");
    return std::nullopt;
  }
  if (isBool(type))
    return literal(call.session, Const{true}, type);
  llvm::APInt low = integer->sextOrTrunc(bitWidth(type));
  return literal(call.session, Const{isUnsigned(type) ? low.zext(low.getBitWidth() + 1) : low}, type);
}

std::optional<Tensor> zeros(Session &session, const Type &type, const Shape &shape) {
  if (!type.pointer)
    return literalTile(session, makeInt(0), type.element, shape);
  auto null = castTo(session, literal(session, makeInt(0), DType::I64), type);
  return null ? std::optional(splat(session, *null, shape)) : std::nullopt;
}

} // namespace

std::optional<Value> call_arange(Call &call) {
  auto start = call.integer(0), end = start ? call.integer(1) : std::nullopt;
  if (!end)
    return std::nullopt;
  if (!fitsInt32(*start) || !fitsInt32(*end))
    return call.wrong(fitsInt32(*start) ? 1 : 0, "an int32");
  if (*end <= *start)
    return call.fail(diag::Kind::EmptyRange, {std::to_string(*start), std::to_string(*end)});
  Type type = Type{DType::I32}.withShape(*end - *start);
  if (!checkShape(call.session, type.shape))
    return std::nullopt;
  return emit<tile::MakeRangeOp>(call.session, type, lower(type, call.session.builder.getContext()),
                                 uint32_t(*start), uint32_t(*end));
}

std::optional<Value> call_full(Call &call) {
  auto shape = call.shape(0);
  auto type = shape ? call.type(2) : std::nullopt;
  if (!type)
    return std::nullopt;
  if (isNumber(call[1]) && !call[1].isScalar && !type->pointer) {
    auto number = wrappedNumber(call, 1, type->element);
    return number ? std::optional<Value>(splat(call.session, *number, *shape)) : std::nullopt;
  }
  auto value = call.tensor(1);
  if (!value)
    return std::nullopt;
  if (llvm::any_of(value->type.shape, [](int64_t extent) { return extent != 1; }))
    return call.wrong(1, "a scalar");
  auto scalar = castTo(call.session, reshape(call.session, *value, {}), *type);
  return scalar ? std::optional<Value>(splat(call.session, *scalar, *shape)) : std::nullopt;
}

std::optional<Value> call_zeros(Call &call) {
  auto shape = call.shape(0);
  auto type = shape ? call.type(1) : std::nullopt;
  return type ? std::optional<Value>(zeros(call.session, *type, *shape)) : std::nullopt;
}

std::optional<Value> call_zeros_like(Call &call) {
  auto input = call.tensor(0);
  return input ? std::optional<Value>(zeros(call.session, input->type.scalar(), input->type.shape))
               : std::nullopt;
}

std::optional<Value> call_to_tensor(Call &call) {
  auto value = call.tensor(0);
  return value ? std::optional<Value>(*value) : std::nullopt;
}

} // namespace tegula::sema::builtins
