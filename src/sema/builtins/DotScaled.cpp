// tl.dot_scaled: formats, packings and shapes are checked here; sema/library/scaled.py computes.
#include "sema/builtins/Call.h"

namespace tegula::sema::builtins {
namespace {

enum { Lhs, LhsScale, LhsFormat, Rhs, RhsScale, RhsFormat, Acc, FastMath, LhsKPack, RhsKPack, OutDtype };

struct Format {
  std::string_view name;
  DType element, bits; // `bits`: the integers that are taken as `element`
};

constexpr Format formats[] = {{"e2m1", DType::U8, DType::U8},
                              {"e4m3", DType::F8E4NV, DType::U8},
                              {"e5m2", DType::F8E5, DType::U8},
                              {"bf16", DType::BF16, DType::U16},
                              {"fp16", DType::F16, DType::U16}};

struct Operand {
  Tensor value;
  const Format *format = nullptr;
  std::optional<Tensor> scale;
  bool kPack = true;

  size_t rank() const { return value.type.shape.size(); }
  bool isPacked() const { return format->name == "e2m1"; }
  // The extent of dimension `d` with its elements unpacked.
  int64_t extent(size_t d, bool packedHere) const {
    return value.type.shape[d] * (isPacked() && packedHere ? 2 : 1);
  }
};

const Format *formatOf(Call &call, size_t i) {
  auto name = call.text(i);
  if (!name)
    return nullptr;
  for (const Format &format : formats)
    if (format.name == *name)
      return &format;
  call.fail(diag::Kind::ScaledFormat, {*name, call.row.parameters[i].name});
  return nullptr;
}

// The tile as its format has it; integers of the same width are taken as bits.
std::optional<Tensor> inFormat(Call &call, const Tensor &value, const Format &format) {
  if (!value.type.pointer && value.type.element == format.element)
    return value;
  if (!value.type.pointer && value.type.element == format.bits)
    return bitcastTo(call.session, value, Type{format.element});
  bool packed = format.name == "e2m1";
  return call.fail(diag::Kind::ScaledElement, {packed ? "e2m1 format must be packed as uint8"
                                                      : "Unexpected dtype for " + std::string(format.name),
                                               spelling(value.type.scalar())});
}

std::optional<Operand> operand(Call &call, size_t at, size_t scaleAt, size_t formatAt, size_t packAt) {
  auto value = call.tile(at);
  Operand result;
  result.format = value ? formatOf(call, formatAt) : nullptr;
  auto pack = result.format ? call.flag(packAt) : std::nullopt;
  auto inside = pack ? inFormat(call, *value, *result.format) : std::nullopt;
  if (!inside)
    return std::nullopt;
  if (!*pack && !result.isPacked())
    return call.fail(diag::Kind::ScaledPacking, {call.row.parameters[packAt].name});
  result.value = *inside;
  result.kPack = *pack;
  if (call.isNone(scaleAt))
    return result;
  result.scale = call.tile(scaleAt);
  if (!result.scale)
    return std::nullopt;
  const Type &type = result.scale->type;
  if (type.pointer || (type.element != DType::U8 && type.element != DType::F8E4NV))
    return call.wrong(scaleAt, "uint8 (e8m0) or fp8e4nv");
  return result;
}

// A scale is [.., outer, K / group]: one number a row of the left operand and a column of the right one.
bool checkScale(Call &call, const Operand &operand, size_t scaleAt, int64_t outer, int64_t k) {
  if (!operand.scale)
    return true;
  int64_t group = operand.scale->type.element == DType::F8E4NV ? 16 : 32;
  Shape expected = operand.value.type.shape;
  expected[operand.rank() - 2] = outer;
  expected.back() = k / group;
  if (operand.scale->type.shape == expected && k % group == 0)
    return true;
  call.fail(diag::Kind::ScaledScale, {std::string(call.row.parameters[scaleAt].name), spell(expected),
                                      spell(operand.scale->type.shape), std::to_string(group)});
  return false;
}

bool checkRanks(Call &call, const Shape &l, const Shape &r) {
  bool fits = l.size() == r.size() && (l.size() == 2 || (l.size() == 3 && l[0] == r[0]));
  if (!fits)
    call.fail(diag::Kind::ScaledRanks, {spell(l), spell(r)});
  return fits;
}

// The accumulator, in fp32; zeros where none is given.
std::optional<Tensor> accumulator(Call &call, const Type &result) {
  if (call.isNone(Acc))
    return literalTile(call.session, makeInt(0), DType::F32, result.shape);
  auto acc = call.tile(Acc);
  if (acc && acc->type != result)
    return call.fail(diag::Kind::DotAccumulator, {spelling(acc->type), spelling(result)});
  return acc ? cast(call.session, *acc, DType::F32) : std::nullopt;
}

Value scaleOf(const Operand &operand) { return operand.scale ? Value(*operand.scale) : Value(); }
Value formatName(const Operand &operand) { return Const{std::string(operand.format->name)}; }

} // namespace

std::optional<Value> call_dot_scaled(Call &call) {
  auto lhs = operand(call, Lhs, LhsScale, LhsFormat, LhsKPack);
  auto rhs = lhs ? operand(call, Rhs, RhsScale, RhsFormat, RhsKPack) : std::nullopt;
  const auto fastMath = rhs ? call.flag(FastMath) : std::nullopt;
  auto element = fastMath ? call.dtype(OutDtype) : std::nullopt;
  if (!element || !checkRanks(call, lhs->value.type.shape, rhs->value.type.shape))
    return std::nullopt;
  if (*element != DType::F32 && *element != DType::F16 && *element != DType::BF16)
    return call.wrong(OutDtype, "fp32, fp16 or bf16");
  const size_t rank = lhs->rank();
  const int64_t m = lhs->extent(rank - 2, !lhs->kPack), n = rhs->extent(rank - 1, !rhs->kPack);
  const int64_t k = lhs->extent(rank - 1, lhs->kPack);
  if (k != rhs->extent(rank - 2, rhs->kPack))
    return call.fail(diag::Kind::ScaledReduction,
                     {spell(lhs->value.type.shape), spell(rhs->value.type.shape)});
  if (!checkScale(call, *lhs, LhsScale, m, k) || !checkScale(call, *rhs, RhsScale, n, k))
    return std::nullopt;
  Shape shape = lhs->value.type.shape;
  shape[rank - 2] = m;
  shape.back() = n;
  auto acc =
      checkShape(call.session, shape) ? accumulator(call, Type{*element}.withShape(shape)) : std::nullopt;
  if (!acc)
    return std::nullopt;
  const Value arguments[] = {
      lhs->value,       scaleOf(*lhs), formatName(*lhs), rhs->value,        scaleOf(*rhs),
      formatName(*rhs), *acc,          Const{*fastMath}, Const{lhs->kPack}, Const{rhs->kPack}};
  auto product = call.session.functions.callFunction(*findLibraryFunction("dot_scaled"), arguments, {});
  auto result = product ? toTensor(call.session, *product) : std::nullopt;
  auto out = result ? cast(call.session, *result, *element) : std::nullopt;
  return out ? std::optional<Value>(*out) : std::nullopt;
}

} // namespace tegula::sema::builtins
