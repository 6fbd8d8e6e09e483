// Block pointers and tensor descriptors: how they are made and moved. Their arithmetic is in Block.cpp.
#include "sema/builtins/Block.h"

#include <numeric>

namespace tegula::sema::builtins {

using diag::Kind;

std::optional<bool> paddingOption(Call &call, size_t i, DType element);

namespace {

// Numbers of a list, integer scalars each, in the type that `typeOf` picks for one.
std::optional<std::vector<Value>> scalars(Call &call, size_t i, DType (*pick)(DType)) {
  auto elements = elementsOf(call[i]);
  std::vector<Value> result = elements ? *elements : std::vector<Value>{call[i]};
  for (Value &value : result) {
    auto *tensor = value.tensor();
    bool isConstant = value.constant() && asInt64(*value.constant());
    if (!isConstant &&
        !(tensor && tensor->type.isScalar() && !tensor->type.pointer && isInteger(tensor->type.element)))
      return call.fail(Kind::BlockScalar, {call.row.parameters[i].name, describe(value)});
    Tensor scalar = *toTensor(call.session, value);
    value = Value(*cast(call.session, scalar, pick(scalar.type.element)));
  }
  return result;
}

DType always64(DType) { return DType::I64; }
// Upstream's extents are int32; more is kept.
DType extentType(DType given) {
  return bitWidth(given) < 32 || given == DType::I32 ? DType::I32 : DType::I64;
}

// The scalar pointer that all of it lies behind. Bools are bytes here, as upstream has them.
std::optional<Tensor> baseOf(Call &call, size_t i) {
  auto *base = call[i].tensor();
  if (!base || !base->type.pointer || !base->type.isScalar() || isPacked(base->type.element))
    return call.fail(Kind::BlockBase, {describe(call[i])});
  Tensor result = *base;
  if (isBool(result.type.element))
    result.type.element = DType::I8;
  return result;
}

bool sameLength(Call &call, size_t rank, std::initializer_list<std::pair<const char *, size_t>> lists) {
  for (auto [name, size] : lists)
    if (size != rank) {
      call.fail(Kind::BlockLength, {name, std::to_string(size), std::to_string(rank)});
      return false;
    }
  return true;
}

// `block_shape`, which may be one number.
std::optional<Shape> blockShape(Call &call, size_t i) {
  auto extents = call.integers(i);
  return extents && checkShape(call.session, *extents) ? extents : std::nullopt;
}

bool isPermutation(Shape order) {
  llvm::sort(order);
  for (size_t d = 0; d < order.size(); ++d)
    if (order[d] != int64_t(d))
      return false;
  return true;
}

RecordType recordType(TypeRef::Whole kind, const Tensor &base, llvm::ArrayRef<int64_t> block) {
  Type tile = Type{base.type.element}.withShape(block);
  tile.isConst = base.type.isConst;
  return {kind, tile, false};
}

bool isOne(const Value &value) { return value.constant() && asInt64(*value.constant()) == 1; }

// Upstream's promises to the copy engine that a program may not break without being told.
bool checkDescriptor(Call &call, const Shape &block, DType element, size_t strides) {
  int64_t bytes = std::max<int64_t>(1, bitWidth(element) / 8), last = block.back();
  std::string size =
      std::to_string(last) + " * " + std::to_string(bytes) + " = " + std::to_string(last * bytes);
  if (last * bytes < 16) {
    call.fail(Kind::DescriptorBlockBytes, {size});
    return false;
  }
  auto elements = elementsOf(call[strides]);
  const Value &step = elements ? elements->back() : call[strides];
  if (isOne(step))
    return true;
  call.fail(Kind::DescriptorLastStride, {describe(step)});
  return false;
}

} // namespace

std::optional<Value> call_make_block_ptr(Call &call) {
  enum { Base, Extents, Strides, Offsets, Block, Order };
  auto base = baseOf(call, Base);
  auto shape = base ? scalars(call, Extents, always64) : std::nullopt;
  auto strides = shape ? scalars(call, Strides, always64) : std::nullopt;
  auto offsets = strides ? scalars(call, Offsets, always64) : std::nullopt;
  auto block = offsets ? blockShape(call, Block) : std::nullopt;
  auto order = block ? call.integers(Order) : std::nullopt;
  if (!order)
    return std::nullopt;
  if (!isPermutation(*order))
    return call.fail(Kind::BlockOrder, {spell(*order)});
  if (!sameLength(call, block->size(),
                  {{"shape", shape->size()},
                   {"strides", strides->size()},
                   {"offsets", offsets->size()},
                   {"order", order->size()}}))
    return std::nullopt;
  auto origin = movePointer(call.session, *base, *offsets, *strides);
  return makeRecord({recordType(TypeRef::BlockPointer, *base, *block), *origin, std::move(*shape),
                     std::move(*strides), std::move(*offsets)});
}

std::optional<Value> call_advance(Call &call) {
  const Record *record = call[0].record();
  if (!record || record->type.kind != TypeRef::BlockPointer)
    return call.wrong(0, "a block pointer");
  BlockParts parts = partsOf(*record);
  auto steps = scalars(call, 1, always64);
  if (!steps || !sameLength(call, parts.block().size(), {{"offsets", steps->size()}}))
    return std::nullopt;
  parts.pointer = *movePointer(call.session, parts.pointer, *steps, parts.strides);
  for (auto [offset, step] : llvm::zip(parts.offsets, *steps))
    offset = *binary(call.session, syntax::BinaryOperator::Add, offset, step);
  return makeRecord(std::move(parts));
}

std::optional<Value> call_make_tensor_descriptor(Call &call) {
  enum { Base, Extents, Strides, Block, Padding };
  auto base = baseOf(call, Base);
  auto shape = base ? scalars(call, Extents, extentType) : std::nullopt;
  auto strides = shape ? scalars(call, Strides, always64) : std::nullopt;
  auto block = strides ? blockShape(call, Block) : std::nullopt;
  if (!block)
    return std::nullopt;
  if (shape->empty() || shape->size() > 5)
    return call.fail(Kind::DescriptorRank, {std::to_string(shape->size())});
  if (!sameLength(call, shape->size(), {{"strides", strides->size()}, {"block_shape", block->size()}}) ||
      !checkDescriptor(call, *block, base->type.element, Strides))
    return std::nullopt;
  auto padsWithNaN = paddingOption(call, Padding, base->type.element);
  if (!padsWithNaN)
    return std::nullopt;
  RecordType type = recordType(TypeRef::Descriptor, *base, *block);
  type.padsWithNaN = *padsWithNaN;
  return makeRecord({type, *base, std::move(*shape), std::move(*strides), {}});
}

std::optional<Value> recordAttribute(Session &session, const Record &record, std::string_view name) {
  const Type &tile = record.type.tile;
  TypeRef whole{tile.element, false, tile.isConst, {tile.shape.begin(), tile.shape.end()}, record.type.kind};
  bool isPointer = record.type.kind == TypeRef::BlockPointer;
  if (name == "type" || (name == "dtype" && isPointer))
    return Value(Const{whole});
  if (!isPointer) {
    if (name == "dtype")
      return Value(makeType(Type{tile.element}));
    if (name == "block_shape")
      return Value(makeTuple(tile.shape));
    if (name == "block_type")
      return Value(makeType(Type{tile.element}.withShape(tile.shape)));
    if (name == "shape" || name == "strides")
      return record.fields[name == "shape" ? 1 : 2];
  }
  return session.fail(Kind::NoSuchAttribute, {spelling(record.type), name});
}

} // namespace tegula::sema::builtins
