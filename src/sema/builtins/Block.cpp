// The arithmetic under block pointers and tensor descriptors. Addresses and offsets are 64 bits wide. The
// origin of a tile is one scalar pointer, moved by scalars, so that a loop carries one number and what
// depends on coordinates stays outside of it. A bound is brought into the tile as a scalar of 32 bits:
// `arange < min(max(extent - offset, 0), block)`, which cannot wrap and keeps what divides it.
#include "sema/builtins/Block.h"

namespace tegula::sema::builtins {
namespace arith = mlir::arith;

namespace {

const Type wide{DType::I64};

std::vector<Value> tupleParts(const Value &value) { return *elementsOf(value); }

Tensor number(Session &session, int64_t value) { return literal(session, makeInt(value), DType::I64); }

// A tile of one dimension as wide as addresses.
Tensor widened(Session &session, const Tensor &vector) { return *cast(session, vector, DType::I64); }

// min(max(value, 0), extent) as int32.
Tensor clamped(Session &session, const Tensor &value, int64_t extent) {
  Tensor positive = emit<arith::MaxSIOp>(session, wide, value.value, number(session, 0).value);
  Tensor within = emit<arith::MinSIOp>(session, wide, positive.value, number(session, extent).value);
  return *cast(session, within, DType::I32);
}

bool isNeverNegative(const Tensor &value) {
  auto constant = value.value.getDefiningOp<arith::ConstantOp>();
  auto integer = constant ? llvm::dyn_cast<mlir::IntegerAttr>(constant.getValue()) : mlir::IntegerAttr();
  return integer && !integer.getValue().isNegative();
}

// One dimension's part of a mask, spread over the tile.
Tensor boundsAlong(Session &session, const BlockParts &parts, int64_t d) {
  using Op = syntax::CompareOperator;
  int64_t extent = parts.block()[d];
  Tensor offset = *wideScalar(session, parts.offsets[d]), end = *wideScalar(session, parts.shape[d]);
  Tensor index = countTo(session, extent);
  Tensor room = emit<arith::SubIOp>(session, wide, end.value, offset.value);
  Tensor result =
      emitCompare(session, Op::Lt, index, splat(session, clamped(session, room, extent), index.type.shape));
  if (!isNeverNegative(offset)) {
    Tensor before = emit<arith::SubIOp>(session, wide, number(session, 0).value, offset.value);
    Tensor first = splat(session, clamped(session, before, extent), index.type.shape);
    Tensor isBehind = emitCompare(session, Op::Ge, index, first);
    result = emit<arith::AndIOp>(session, result.type, result.value, isBehind.value);
  }
  return spreadAlong(session, result, parts.block(), d);
}

// Does a dimension of one element lie within the extent? A scalar.
Tensor isInside(Session &session, const BlockParts &parts, int64_t d) {
  using Op = syntax::CompareOperator;
  Tensor offset = *wideScalar(session, parts.offsets[d]), end = *wideScalar(session, parts.shape[d]);
  Tensor result = emitCompare(session, Op::Lt, offset, end);
  if (isNeverNegative(offset))
    return result;
  Tensor isBehind = emitCompare(session, Op::Ge, offset, number(session, 0));
  return emit<arith::AndIOp>(session, result.type, result.value, isBehind.value);
}

} // namespace

Value makeRecord(BlockParts parts) {
  ValueTuple fields{Value(parts.pointer), makeValueTuple(std::move(parts.shape)),
                    makeValueTuple(std::move(parts.strides)), makeValueTuple(std::move(parts.offsets))};
  return std::make_shared<const Record>(Record{std::move(parts.type), std::move(fields)});
}

BlockParts partsOf(const Record &record) {
  const ValueTuple &fields = record.fields;
  return {record.type, *fields[0].tensor(), tupleParts(fields[1]), tupleParts(fields[2]),
          tupleParts(fields[3])};
}

std::optional<Tensor> wideScalar(Session &session, const Value &value) {
  auto tensor = toTensor(session, value);
  return tensor ? cast(session, *tensor, DType::I64) : std::nullopt;
}

std::optional<Tensor> movePointer(Session &session, const Tensor &pointer, llvm::ArrayRef<Value> offsets,
                                  llvm::ArrayRef<Value> strides) {
  Tensor result = pointer;
  for (auto [offset, stride] : llvm::zip(offsets, strides)) {
    auto count = wideScalar(session, offset), step = count ? wideScalar(session, stride) : std::nullopt;
    if (!step)
      return std::nullopt;
    Tensor distance = emit<arith::MulIOp>(session, wide, count->value, step->value);
    result = emit<tile::AddPtrOp>(session, pointer.type, result.value, distance.value);
  }
  return result;
}

Tensor countTo(Session &session, int64_t extent) { return indicesAlong(session, {&extent, 1}, 0); }

Tensor spreadAlong(Session &session, const Tensor &vector, llvm::ArrayRef<int64_t> tile, int64_t dim) {
  Tensor result = vector;
  for (int64_t d = 0; d < int64_t(tile.size()); ++d)
    if (d != dim)
      result = expandDims(session, result, d);
  return *broadcastTo(session, result, tile);
}

Tensor pointersOf(Session &session, const BlockParts &parts) {
  Tensor result = splat(session, parts.pointer, parts.block());
  for (int64_t d = 0; d < int64_t(parts.block().size()); ++d) {
    if (parts.block()[d] == 1)
      continue;
    Tensor index = widened(session, countTo(session, parts.block()[d]));
    Tensor stride = splat(session, *wideScalar(session, parts.strides[d]), index.type.shape);
    Tensor distance = emit<arith::MulIOp>(session, index.type, index.value, stride.value);
    Tensor spread = spreadAlong(session, distance, parts.block(), d);
    result = emit<tile::AddPtrOp>(session, result.type, result.value, spread.value);
  }
  return result;
}

std::optional<Tensor> maskOf(Session &session, const BlockParts &parts, llvm::ArrayRef<int64_t> dims) {
  std::optional<Tensor> result;
  for (int64_t d : dims) {
    Tensor one = boundsAlong(session, parts, d);
    result = result ? emit<arith::AndIOp>(session, one.type, result->value, one.value) : one;
  }
  return result;
}

BlockTile tileOf(Session &session, const BlockParts &parts, llvm::ArrayRef<int64_t> dims) {
  BlockParts wide{parts.type, parts.pointer, {}, {}, {}};
  wide.type.tile.shape.clear();
  Shape checked; // of the dimensions that stay
  std::optional<Tensor> condition;
  for (int64_t d = 0; d < int64_t(parts.block().size()); ++d) {
    bool isChecked = llvm::is_contained(dims, d);
    if (parts.block()[d] == 1) {
      if (!isChecked)
        continue;
      Tensor inside = isInside(session, parts, d);
      condition =
          condition ? emit<arith::AndIOp>(session, inside.type, condition->value, inside.value) : inside;
      continue;
    }
    if (isChecked)
      checked.push_back(int64_t(wide.shape.size()));
    wide.type.tile.shape.push_back(parts.block()[d]);
    wide.shape.push_back(parts.shape[d]);
    wide.strides.push_back(parts.strides[d]);
    wide.offsets.push_back(parts.offsets[d]);
  }
  if (wide.shape.empty())
    return {pointersOf(session, parts), maskOf(session, parts, dims)};
  BlockTile result{pointersOf(session, wide), maskOf(session, wide, checked)};
  if (condition) {
    Tensor all = splat(session, *condition, result.shape());
    result.mask = result.mask ? emit<arith::AndIOp>(session, all.type, result.mask->value, all.value) : all;
  }
  return result;
}

} // namespace tegula::sema::builtins
