// Loads, stores and atomics through tensor descriptors, as those of tiles of pointers. All dimensions are
// checked: what lies outside reads as the padding and is not written.
#include "sema/builtins/Block.h"

namespace tegula::sema::builtins {
namespace arith = mlir::arith;
using diag::Kind;

Tensor notANumber(Session &session, DType element);

namespace {

// The tile that is accessed, and its shape as the program knows it.
struct Target {
  BlockTile tile;
  Shape shape;
};

std::optional<BlockParts> descriptorOf(Call &call) {
  const Record *record = call[0].record();
  if (!record || record->type.kind != TypeRef::Descriptor)
    return call.wrong(0, "a tensor descriptor");
  return partsOf(*record);
}

bool isIntegerScalar(const Value &value) {
  if (auto *tensor = value.tensor())
    return tensor->type.isScalar() && !tensor->type.pointer && isInteger(tensor->type.element);
  return value.constant() && asInt64(*value.constant());
}

// The tile at `offsets`.
std::optional<Target> targetOf(Call &call, size_t offsets, BlockParts parts) {
  auto given = elementsOf(call[offsets]);
  parts.offsets = given ? *given : std::vector<Value>{call[offsets]};
  size_t rank = parts.block().size();
  if (parts.offsets.size() != rank)
    return call.fail(Kind::DescriptorOffsets, {std::to_string(rank), std::to_string(parts.offsets.size())});
  for (const Value &offset : parts.offsets)
    if (!isIntegerScalar(offset))
      return call.fail(Kind::BlockScalar, {call.row.parameters[offsets].name, describe(offset)});
  parts.pointer = *movePointer(call.session, parts.pointer, parts.offsets, parts.strides);
  Shape dims;
  for (size_t d = 0; d < rank; ++d)
    dims.push_back(int64_t(d));
  return Target{tileOf(call.session, parts, dims), Shape(parts.block())};
}

// The rows `rows` from column `column` on, of a descriptor of rows.
std::optional<Target> rowsOf(Call &call, size_t rows, size_t column, BlockParts &parts) {
  Session &session = call.session;
  if (parts.block().size() != 2)
    return call.fail(Kind::DescriptorRowsRank, {spell(parts.block())});
  if (parts.block()[0] != 1)
    return call.fail(Kind::DescriptorRowsBlock, {spell(parts.block())});
  auto index = call.tensor(rows);
  if (!index)
    return std::nullopt;
  if (index->type.shape.size() != 1 || index->type.pointer || !isInteger(index->type.element))
    return call.fail(Kind::DescriptorRowsOffsets, {spelling(index->type)});
  if (!isIntegerScalar(call[column]))
    return call.fail(Kind::BlockScalar, {call.row.parameters[column].name, describe(call[column])});
  Shape tile{index->type.shape[0], parts.block()[1]};
  if (!checkShape(session, tile))
    return std::nullopt;
  parts.type.tile.shape = tile;
  parts.offsets = {Value(makeInt(0)), call[column]};
  Tensor row = *cast(session, *index, DType::I64);
  auto across = [&](const Value &scalar) {
    return splat(session, *wideScalar(session, scalar), row.type.shape);
  };
  using Op = syntax::CompareOperator;
  Tensor isBelow = emitCompare(session, Op::Lt, row, across(parts.shape[0]));
  Tensor isThere = emitCompare(session, Op::Ge, row, across(Value(makeInt(0))));
  Tensor rowMask = emit<arith::AndIOp>(session, isBelow.type, isBelow.value, isThere.value);
  Tensor distance = emit<arith::MulIOp>(session, row.type, row.value, across(parts.strides[0]).value);

  parts.pointer = *movePointer(session, parts.pointer, parts.offsets, parts.strides);
  parts.strides[0] = Value(makeInt(0)); // the rows are not in steps
  Tensor pointers = pointersOf(session, parts);
  pointers = emit<tile::AddPtrOp>(session, pointers.type, pointers.value,
                                  spreadAlong(session, distance, tile, 0).value);
  Tensor columns = *maskOf(session, parts, {1});
  Tensor mask =
      emit<arith::AndIOp>(session, columns.type, spreadAlong(session, rowMask, tile, 0).value, columns.value);
  return Target{{pointers, mask}, tile};
}

std::optional<Value> loadFrom(Call &call, const Target &target, const RecordType &type) {
  std::vector<NamedValue> keywords{{"mask", Value(*target.tile.mask)}};
  if (type.padsWithNaN)
    keywords.push_back({"other", Value(notANumber(call.session, type.tile.element))});
  Value pointers(target.tile.pointers);
  auto loaded = callBuiltin(call.session, "triton.language.load", {&pointers, 1}, keywords);
  return loaded ? std::optional(Value(reshape(call.session, *loaded->tensor(), target.shape))) : std::nullopt;
}

// A value of the tile's own shape, or a scalar for all of it.
std::optional<Tensor> valueFor(Call &call, size_t i, const Target &target) {
  auto value = call.tensor(i);
  if (!value || value->type.isScalar())
    return value;
  if (value->type.shape != target.shape)
    return call.fail(Kind::BlockShapeMismatch, {spell(target.shape), spell(value->type.shape)});
  return reshape(call.session, *value, target.tile.shape());
}

// The builtin `name` on pointers, a value and a mask.
std::optional<Value> update(Call &call, std::string_view name, const Target &target, size_t i) {
  auto value = valueFor(call, i, target);
  if (!value)
    return std::nullopt;
  Value operands[] = {Value(target.tile.pointers), Value(*value), Value(*target.tile.mask)};
  return callBuiltin(call.session, name, operands, {}) ? std::optional(Value()) : std::nullopt;
}

std::optional<Value> updateBlock(Call &call, std::string_view name, size_t offsets, size_t value) {
  auto parts = descriptorOf(call);
  auto target = parts ? targetOf(call, offsets, *parts) : std::nullopt;
  return target ? update(call, name, *target, value) : std::nullopt;
}

std::optional<Value> updateBlock(Call &call, std::string_view name) { return updateBlock(call, name, 1, 2); }

} // namespace

std::optional<Value> descriptor_load(Call &call) {
  auto parts = descriptorOf(call);
  auto target = parts ? targetOf(call, 1, *parts) : std::nullopt;
  return target ? loadFrom(call, *target, parts->type) : std::nullopt;
}
std::optional<Value> descriptor_store(Call &call) { return updateBlock(call, "triton.language.store"); }

std::optional<Value> descriptor_gather(Call &call) {
  auto parts = descriptorOf(call);
  auto target = parts ? rowsOf(call, 1, 2, *parts) : std::nullopt;
  return target ? loadFrom(call, *target, parts->type) : std::nullopt;
}
std::optional<Value> descriptor_scatter(Call &call) {
  auto parts = descriptorOf(call);
  auto target = parts ? rowsOf(call, 2, 3, *parts) : std::nullopt;
  return target ? update(call, "triton.language.store", *target, 1) : std::nullopt;
}

std::optional<Value> descriptor_atomic_add(Call &call) {
  return updateBlock(call, "triton.language.atomic_add");
}
std::optional<Value> descriptor_atomic_min(Call &call) {
  return updateBlock(call, "triton.language.atomic_min");
}
std::optional<Value> descriptor_atomic_max(Call &call) {
  return updateBlock(call, "triton.language.atomic_max");
}
std::optional<Value> descriptor_atomic_and(Call &call) {
  return updateBlock(call, "triton.language.atomic_and");
}
std::optional<Value> descriptor_atomic_or(Call &call) {
  return updateBlock(call, "triton.language.atomic_or");
}
std::optional<Value> descriptor_atomic_xor(Call &call) {
  return updateBlock(call, "triton.language.atomic_xor");
}

std::optional<Value> call_load_tensor_descriptor(Call &call) { return descriptor_load(call); }
std::optional<Value> call_store_tensor_descriptor(Call &call) { return descriptor_store(call); }

// The shape and type that older programs give again are those of the descriptor.
std::optional<Value> call__experimental_descriptor_load(Call &call) {
  enum { Descriptor, Offsets, Block, Element };
  auto parts = descriptorOf(call);
  auto shape = parts && !call.isNone(Block) ? call.shape(Block) : Shape();
  if (!parts || !shape)
    return std::nullopt;
  if (!call.isNone(Block) && *shape != parts->type.tile.shape)
    return call.fail(Kind::BlockShapeMismatch, {spell(parts->block()), spell(*shape)});
  auto element = call.isNone(Element) ? parts->type.tile.element : call.dtype(Element);
  if (!element)
    return std::nullopt;
  if (*element != parts->type.tile.element)
    return call.wrong(Element, name(parts->type.tile.element));
  return descriptor_load(call);
}
std::optional<Value> call__experimental_descriptor_store(Call &call) {
  return updateBlock(call, "triton.language.store", 2, 1);
}

const Row *findDescriptorMethod(std::string_view name) {
  return findRow("triton.language.tensor_descriptor." + std::string(name));
}

} // namespace tegula::sema::builtins
