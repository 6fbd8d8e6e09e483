// tl.dot. Extents are free: no tensor core asks for a minimum here.
#include "base/ByteFloat.h"
#include "sema/builtins/Call.h"

#include <numeric>

namespace tegula::sema::builtins {
namespace {

enum { A, B, Acc, InputPrecision, AllowTf32, MaxImprecise, OutDtype };

bool checkElements(Call &call, const Tensor &a, const Tensor &b) {
  DType l = a.type.element, r = b.type.element;
  bool known = !a.type.pointer && !b.type.pointer && (isFloat(l) || l == DType::I8);
  if (known && (l == r || (isByteFloat(l) && isByteFloat(r))))
    return true;
  call.fail(diag::Kind::DotElements, {spelling(a.type), spelling(b.type)});
  return false;
}

bool checkShapes(Call &call, const Tensor &a, const Tensor &b) {
  const Shape &l = a.type.shape, &r = b.type.shape;
  size_t rank = l.size();
  bool fits = rank >= 2 && r.size() == rank && l[rank - 1] == r[rank - 2];
  for (size_t d = 0; fits && d + 2 < rank; ++d)
    fits = l[d] == r[d];
  if (!fits)
    call.fail(diag::Kind::DotShapes, {spell(l), spell(r)});
  return fits;
}

// The element of the result, by the operands', out_dtype and acc.
std::optional<DType> resultElement(Call &call, DType operand, const std::optional<Tensor> &acc) {
  std::optional<DType> wanted;
  if (!call.isNone(OutDtype)) {
    wanted = call.dtype(OutDtype);
    if (!wanted)
      return std::nullopt;
    if (*wanted == DType::BF16)
      return call.wrong(OutDtype, "tl.float32 or tl.float16; cast the result with `.to(tl.bfloat16)`");
  }
  switch (operand) {
  case DType::I8: return DType::I32;
  case DType::F32:
  case DType::BF16: return DType::F32;
  case DType::F64: return DType::F64;
  default: break;
  }
  DType result = wanted ? *wanted : acc ? acc->type.element : DType::F32;
  if (result != DType::F32 && result != DType::F16)
    return call.wrong(wanted ? OutDtype : Acc, "fp32 or fp16");
  return result;
}

tile::Precision precisionOf(DotPrecision precision) {
  switch (precision) {
  case DotPrecision::TF32: return tile::Precision::TF32;
  case DotPrecision::TF32x3: return tile::Precision::TF32x3;
  case DotPrecision::IEEE: return tile::Precision::IEEE;
  case DotPrecision::BF16x3: return tile::Precision::BF16x3;
  case DotPrecision::BF16x6: return tile::Precision::BF16x6;
  }
  return tile::Precision::IEEE;
}

std::optional<tile::Precision> precisionOf(Call &call, DType operand) {
  using Precision = tile::Precision;
  if (!call.isNone(InputPrecision) && !call.isNone(AllowTf32))
    return call.wrong(AllowTf32, "left out where input_precision is given");
  std::optional<Precision> wanted = precisionOf(call.session.options.dotPrecision);
  if (!call.isNone(AllowTf32)) {
    auto allow = call.flag(AllowTf32);
    if (!allow)
      return std::nullopt;
    wanted = *allow ? Precision::TF32 : Precision::IEEE;
  } else if (!call.isNone(InputPrecision)) {
    wanted = call.word<Precision>(InputPrecision, {{"tf32", Precision::TF32},
                                                   {"tf32x3", Precision::TF32x3},
                                                   {"ieee", Precision::IEEE},
                                                   {"bf16x3", Precision::BF16x3},
                                                   {"bf16x6", Precision::BF16x6}});
  }
  // Only operands of 32 bits can be narrowed.
  return wanted && operand != DType::F32 ? Precision::IEEE : wanted;
}

// Units of some targets add products of 8-bit floats with fewer bits than f32 has. A number of products up
// to which that is permitted, and which one dot reaches, asks for sums that are made otherwise.
std::optional<bool> wantsPreciseSums(Call &call, const Type &a, const Type &b) {
  if (!isByteFloat(a.element) || !isByteFloat(b.element) || call.isNone(MaxImprecise))
    return false;
  std::optional<int64_t> most = call.integer(MaxImprecise);
  return most ? std::optional(*most <= a.shape.back()) : std::nullopt;
}

// Leading dimensions as one.
Tensor asBatch(Session &session, const Tensor &value) {
  const Shape &shape = value.type.shape;
  if (shape.size() <= 3)
    return value;
  int64_t batch = std::accumulate(shape.begin(), shape.end() - 2, int64_t(1), std::multiplies<>());
  return reshape(session, value, {batch, shape[shape.size() - 2], shape.back()});
}

} // namespace

std::optional<Value> call_dot(Call &call) {
  Session &session = call.session;
  auto a = call.tile(A), b = a ? call.tile(B) : std::nullopt;
  if (!b || !checkElements(call, *a, *b) || !checkShapes(call, *a, *b))
    return std::nullopt;
  std::optional<Tensor> acc;
  if (!call.isNone(Acc)) {
    acc = call.tile(Acc);
    if (!acc)
      return std::nullopt;
  }
  auto element = resultElement(call, a->type.element, acc);
  auto precision = element ? precisionOf(call, a->type.element) : std::nullopt;
  auto isPrecise = precision ? wantsPreciseSums(call, a->type, b->type) : std::nullopt;
  if (!isPrecise)
    return std::nullopt;
  Shape shape = a->type.shape;
  shape.back() = b->type.shape.back();
  if (!checkShape(session, shape))
    return std::nullopt;
  Type result = Type{*element}.withShape(shape);
  if (acc && acc->type != result)
    return call.fail(diag::Kind::DotAccumulator, {spelling(acc->type), spelling(result)});
  if (!acc)
    acc = literalTile(session, makeInt(0), *element, shape);
  // Of these 8-bit floats f16 holds all numbers, and so the products are exact.
  if (*isPrecise || isFloatInByte(a->type.element) || isFloatInByte(b->type.element)) {
    a = cast(session, *a, DType::F16);
    b = cast(session, *b, DType::F16);
  }
  Tensor base = asBatch(session, *acc);
  auto op =
      tile::DotOp::create(session.builder, session.loc(), base.value.getType(), asBatch(session, *a).value,
                          asBatch(session, *b).value, base.value, *precision);
  return Value(reshape(session, {op.getResult(), base.type}, shape));
}

} // namespace tegula::sema::builtins
