// One element type to another, by upstream's rules. Casts of constants fold at once.
#include "base/ByteFloat.h"
#include "sema/Hints.h"
#include "sema/builtins/Emit.h"
#include "sema/builtins/Table.h"

namespace tegula::sema {

using namespace builtins;
namespace arith = mlir::arith;

namespace {

bool isHalf(DType type) { return type == DType::F16 || type == DType::BF16; }

template <class Op> Tensor convert(Session &session, const Tensor &value, DType to) {
  Type type = value.type.withElement(to);
  return {
      session.builder.createOrFold<Op>(session.loc(), lower(type, session.builder.getContext()), value.value),
      type};
}

Tensor isNotZero(Session &session, const Tensor &value) {
  Tensor zero = literalTile(session, makeInt(0), value.type.element, value.type.shape);
  return emitCompare(session, syntax::CompareOperator::Ne, value, zero);
}

Tensor castInteger(Session &session, const Tensor &value, DType to) {
  DType from = value.type.element;
  if (isBool(to))
    return isNotZero(session, value);
  if (bitWidth(to) == bitWidth(from))
    return {value.value, value.type.withElement(to)};
  if (bitWidth(to) < bitWidth(from))
    return convert<arith::TruncIOp>(session, value, to);
  return isSigned(from) ? convert<arith::ExtSIOp>(session, value, to)
                        : convert<arith::ExtUIOp>(session, value, to);
}

// Calls a conversion of sema/library/floats.py. Where that fails a budget is spent and told of, and any value
// does.
Tensor convertByLibrary(Session &session, std::string_view function, const Type &result,
                        llvm::ArrayRef<Value> arguments) {
  auto converted = session.functions.callFunction(*findLibraryFunction(function), arguments, {});
  auto *tensor = converted ? converted->tensor() : nullptr;
  return tensor ? Tensor{tensor->value, result}
                : literalTile(session, makeInt(0), result.element, result.shape);
}

// Of the floats that are bytes below sema, through f32.
Tensor decodeByte(Session &session, const Tensor &value) {
  const ByteFloat format = byteFloatOf(value.type.element);
  const Tensor byte{value.value, value.type.withElement(DType::U8)};
  return convertByLibrary(session, "decode_byte_float", value.type.withElement(DType::F32),
                          {Value(byte), Value(makeInt(format.mantissa)), Value(makeInt(format.bias)),
                           Value(Const{!format.hasNegativeZero})});
}

Tensor castFloat(Session &session, const Tensor &value, DType to, std::optional<tile::Rounding> rounding);

Tensor encodeByte(Session &session, const Tensor &value, DType to, std::optional<tile::Rounding> rounding) {
  const ByteFloat format = byteFloatOf(to);
  const Type wide = value.type.withElement(DType::F32);
  const Tensor single = value.type.element == DType::F64
                            ? convertByLibrary(session, "to_odd_float", wide, {Value(value)})
                        : value.type.element == DType::F32 ? value
                                                           : castFloat(session, value, DType::F32, {});
  return convertByLibrary(session, "encode_byte_float", value.type.withElement(to),
                          {Value(single), Value(makeInt(format.mantissa)), Value(makeInt(format.bias)),
                           Value(Const{format.largest}), Value(Const{!format.hasNegativeZero}),
                           Value(Const{rounding == tile::Rounding::RTZ})});
}

Tensor castFloat(Session &session, const Tensor &value, DType to, std::optional<tile::Rounding> rounding) {
  DType from = value.type.element;
  if (isFloatInByte(to))
    return encodeByte(session, value, to, rounding);
  if (isFloatInByte(from)) {
    Tensor wide = decodeByte(session, value);
    return to == DType::F32 ? wide : castFloat(session, wide, to, rounding);
  }
  if (isByteFloat(from) || isByteFloat(to) || rounding == tile::Rounding::RTZ) {
    Type type = value.type.withElement(to);
    return emit<tile::FpToFpOp>(session, type, lower(type, session.builder.getContext()), value.value,
                                rounding.value_or(tile::Rounding::RTNE));
  }
  // Halves meet other types in fp32, as upstream has it.
  if (isHalf(from) && to != DType::F32)
    return castFloat(session, castFloat(session, value, DType::F32, {}), to, rounding);
  return bitWidth(to) < bitWidth(from) ? convert<arith::TruncFOp>(session, value, to)
                                       : convert<arith::ExtFOp>(session, value, to);
}

Tensor castElement(Session &session, const Tensor &value, DType to, std::optional<tile::Rounding> rounding) {
  DType from = value.type.element;
  if (from == to)
    return value;
  if (isFloat(from) && isFloat(to))
    return castFloat(session, value, to, rounding);
  if (isInteger(from) && isInteger(to))
    return castInteger(session, value, to);
  if (isFloat(from)) {
    if (isByteFloat(from) || isHalf(from))
      return castElement(session, castFloat(session, value, DType::F32, {}), to, {});
    if (isBool(to))
      return isNotZero(session, value);
    if (bitWidth(to) == 8) // saturates at 16 bits, as instructions of GPUs and so upstream have it
      return castInteger(session, castElement(session, value, isSigned(to) ? DType::I16 : DType::U16, {}),
                         to);
    return isSigned(to) ? convert<arith::FPToSIOp>(session, value, to)
                        : convert<arith::FPToUIOp>(session, value, to);
  }
  if (isByteFloat(to))
    return castFloat(session, castElement(session, value, DType::F32, {}), to, {});
  return isSigned(from) ? convert<arith::SIToFPOp>(session, value, to)
                        : convert<arith::UIToFPOp>(session, value, to);
}

std::optional<Tensor> castPointer(Session &session, const Tensor &value, const Type &to) {
  mlir::MLIRContext *context = session.builder.getContext();
  Type result = to.withShape(value.type.shape);
  auto fail = [&] {
    session.fail(diag::Kind::CannotCast, {spelling(value.type.scalar()), spelling(to.scalar())});
    if (value.type.pointer && isPacked(value.type.element))
      setHint(session, diag::Kind::CannotCast, "a pointer's element is tl.load(pointer)");
    else if (value.type.pointer)
      setHint(
          session, diag::Kind::CannotCast,
          "a pointer's element is tl.load(pointer), its address an int64; a tensor of one element comes as "
          "a number by `x.item()`");
    return std::nullopt;
  };
  // The address of a packed element is no number of bytes.
  if (value.type.pointer && isPacked(value.type.element))
    return fail();
  if (value.type.pointer && to.pointer) {
    if (lower(result, context) == value.value.getType())
      return Tensor{value.value, result};
    return emit<tile::BitcastOp>(session, result, lower(result, context), value.value);
  }
  if (to.pointer && isInteger(value.type.element)) {
    Tensor address = castElement(session, value, isSigned(value.type.element) ? DType::I64 : DType::U64, {});
    return emit<tile::IntToPtrOp>(session, result, lower(result, context), address.value);
  }
  if (value.type.pointer && isInteger(to.element) && (bitWidth(to.element) == 64 || isBool(to.element))) {
    Type address = value.type.withElement(DType::I64);
    Tensor bits = emit<tile::PtrToIntOp>(session, address, lower(address, context), value.value);
    return castElement(session, bits, to.element, {});
  }
  return fail();
}

} // namespace

std::optional<Tensor> cast(Session &session, const Tensor &value, DType to) {
  return castTo(session, value, Type{to});
}

namespace builtins {

std::optional<Tensor> castTo(Session &session, const Tensor &value, const Type &to,
                             std::optional<tile::Rounding> rounding) {
  if (!to.pointer && isPacked(to.element))
    return session.fail(diag::Kind::PackedElement,
                        {"a conversion", name(to.element), name(unpackedType(to.element))});
  bool narrows = !value.type.pointer && !to.pointer && isFloat(value.type.element) && isFloat(to.element) &&
                 bitWidth(to.element) < bitWidth(value.type.element);
  if (value.type.scalar() == to.scalar())
    return value;
  if (rounding && !narrows)
    return session.fail(diag::Kind::RoundingOfNoNarrowing,
                        {spelling(value.type.scalar()), spelling(to.scalar())});
  if (value.type.pointer || to.pointer)
    return castPointer(session, value, to);
  return castElement(session, value, to.element, rounding);
}

std::optional<Tensor> bitcastTo(Session &session, const Tensor &value, const Type &to) {
  if (value.type.scalar() == to.scalar())
    return value;
  if (value.type.pointer || to.pointer)
    return castPointer(session, value, to);
  if (isPacked(to.element))
    return castTo(session, value, to); // says why not
  unsigned from = bitWidth(value.type.element), bits = bitWidth(to.element);
  if (from != bits)
    return session.fail(diag::Kind::BitcastWidth, {spelling(value.type.scalar()), std::to_string(from),
                                                   spelling(to.scalar()), std::to_string(bits)});
  Type type = value.type.withElement(to.element);
  if (lower(type, session.builder.getContext()) == value.value.getType())
    return Tensor{value.value, type};
  return emit<tile::BitcastOp>(session, type, lower(type, session.builder.getContext()), value.value);
}

} // namespace builtins
} // namespace tegula::sema
