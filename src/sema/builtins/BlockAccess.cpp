// tl.load and tl.store of block pointers: the checks, then the same builtin on plain pointers.
#include "sema/builtins/Block.h"

namespace tegula::sema::builtins {

std::optional<Value> call_load(Call &call);
std::optional<Value> call_store(Call &call);

namespace {

using diag::Kind;

Value text(std::string_view word) { return Value(Const{std::string(word)}); }

std::optional<BlockParts> blockPointer(Call &call, size_t i) {
  const Record &record = *call[i].record();
  if (record.type.kind != TypeRef::BlockPointer)
    return call.wrong(i, "a pointer, a tile of pointers or a block pointer");
  return partsOf(record);
}

// The dimensions that `boundary_check` names, in order.
std::optional<Shape> checkedDims(Call &call, size_t i, int64_t rank) {
  if (call.isNone(i))
    return Shape();
  auto dims = call.integers(i);
  if (!dims)
    return std::nullopt;
  llvm::sort(*dims);
  for (size_t d = 0; d < dims->size(); ++d) {
    if ((*dims)[d] < 0 || (*dims)[d] >= rank)
      return call.fail(Kind::BoundaryCheckRange, {std::to_string((*dims)[d]), std::to_string(rank)});
    if (d && (*dims)[d] == (*dims)[d - 1])
      return call.fail(Kind::BoundaryCheckRepeated, {std::to_string((*dims)[d])});
  }
  return dims;
}

} // namespace

std::optional<bool> paddingOption(Call &call, size_t i, DType element) {
  auto word = call.text(i);
  if (!word)
    return std::nullopt;
  if (!word->empty() && *word != "zero" && *word != "nan")
    return call.fail(Kind::PaddingOption, {*word});
  if (*word == "nan" && !isFloat(element))
    return call.fail(Kind::PaddingOfIntegers, {std::string(name(element))});
  return *word == "nan";
}

Tensor notANumber(Session &session, DType element) {
  Tensor quiet = literal(session, Const{std::numeric_limits<double>::quiet_NaN()}, DType::F32);
  return *cast(session, quiet, element);
}

std::optional<Value> loadBlock(Call &call) {
  enum { Pointer, Mask, Other, BoundaryCheck, Padding };
  auto parts = blockPointer(call, Pointer);
  if (!parts)
    return std::nullopt;
  if (!call.isNone(Mask) || !call.isNone(Other))
    return call.fail(Kind::MaskOfBlockPointer, {"loading"});
  auto dims = checkedDims(call, BoundaryCheck, int64_t(parts->block().size()));
  auto padsWithNaN = dims ? paddingOption(call, Padding, parts->type.tile.element) : std::nullopt;
  if (!padsWithNaN)
    return std::nullopt;
  Call plain = call;
  BlockTile tile = tileOf(call.session, *parts, *dims);
  plain.values[Pointer] = Value(tile.pointers);
  if (tile.mask) {
    plain.values[Mask] = Value(*tile.mask);
    if (*padsWithNaN)
      plain.values[Other] = Value(notANumber(call.session, parts->type.tile.element));
  }
  plain.values[BoundaryCheck] = makeValueTuple({});
  plain.values[Padding] = text("");
  auto loaded = call_load(plain);
  return loaded ? std::optional(Value(reshape(call.session, *loaded->tensor(), parts->block())))
                : std::nullopt;
}

std::optional<Value> storeBlock(Call &call) {
  enum { Pointer, Stored, Mask, BoundaryCheck };
  auto parts = blockPointer(call, Pointer);
  auto value = parts ? call.tensor(Stored) : std::nullopt;
  if (!value)
    return std::nullopt;
  if (!call.isNone(Mask))
    return call.fail(Kind::MaskOfBlockPointer, {"storing"});
  if (!value->type.isScalar() && value->type.shape != parts->type.tile.shape)
    return call.fail(Kind::BlockShapeMismatch, {spell(parts->block()), spell(value->type.shape)});
  // A tile in another type is converted on the way where upstream refuses it.
  auto dims = checkedDims(call, BoundaryCheck, int64_t(parts->block().size()));
  if (!dims)
    return std::nullopt;
  Call plain = call;
  BlockTile tile = tileOf(call.session, *parts, *dims);
  plain.values[Pointer] = Value(tile.pointers);
  if (!value->type.isScalar())
    plain.values[Stored] = Value(reshape(call.session, *value, tile.shape()));
  if (tile.mask)
    plain.values[Mask] = Value(*tile.mask);
  plain.values[BoundaryCheck] = makeValueTuple({});
  return call_store(plain);
}

} // namespace tegula::sema::builtins
