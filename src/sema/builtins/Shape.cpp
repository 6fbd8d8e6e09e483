// Builtins that move elements to other coordinates and compute nothing.
#include "sema/builtins/Call.h"

#include <numeric>

namespace tegula::sema::builtins {
namespace {

using Order = llvm::SmallVector<int32_t, 4>;

std::optional<Value> done(const std::optional<Tensor> &tensor) {
  return tensor ? std::optional<Value>(*tensor) : std::nullopt;
}

std::optional<Value> reshapeTo(Call &call, bool canReorder) {
  auto input = call.tensor(0);
  auto shape = input ? call.shape(1) : std::nullopt;
  if (!shape)
    return std::nullopt;
  auto count = [](const Shape &extents) {
    return std::accumulate(extents.begin(), extents.end(), int64_t(1), std::multiplies<>());
  };
  if (count(*shape) != count(input->type.shape))
    return call.fail(diag::Kind::ReshapeCount,
                     {spell(input->type.shape), std::to_string(count(input->type.shape)), spell(*shape),
                      std::to_string(count(*shape))});
  return Value(reshape(call.session, *input, *shape, canReorder));
}

// The permutation in argument `i`.
std::optional<Order> orderOf(Call &call, size_t i, size_t rank) {
  auto dims = call.integers(i);
  if (!dims)
    return std::nullopt;
  Order order;
  llvm::SmallVector<bool> seen(rank);
  for (int64_t d : *dims) {
    int64_t source = d < 0 ? d + int64_t(rank) : d;
    if (source < 0 || source >= int64_t(rank) || seen[source])
      return call.fail(diag::Kind::BadPermutation, {spell(*dims), std::to_string(rank)});
    seen[source] = true;
    order.push_back(int32_t(source));
  }
  if (order.size() != rank)
    return call.fail(diag::Kind::BadPermutation, {spell(*dims), std::to_string(rank)});
  return order;
}

// a and b in one type and shape, joined along a new last dimension.
std::optional<Tensor> join(Call &call) {
  Session &session = call.session;
  auto a = call.tensor(0), b = a ? call.tensor(1) : std::nullopt;
  auto operands = b ? broadcastPair(session, *a, *b) : std::nullopt;
  if (!operands)
    return std::nullopt;
  auto &[l, r] = *operands;
  if (l.type.scalar() != r.type.scalar())
    return session.fail(diag::Kind::IncompatibleOperands, {call.row.display(), describe(*a), describe(*b)});
  bool scalars = l.type.isScalar();
  if (scalars)
    l = splat(session, l, {1}), r = splat(session, r, {1});
  Shape shape = l.type.shape;
  shape.push_back(2);
  if (!checkShape(session, shape))
    return std::nullopt;
  Type type = l.type.withShape(shape);
  Tensor joined =
      emit<tile::JoinOp>(session, type, lower(type, session.builder.getContext()), l.value, r.value);
  return scalars ? reshape(session, joined, {2}) : joined;
}

} // namespace

std::optional<Value> call_broadcast(Call &call) {
  auto a = call.tensor(0), b = a ? call.tensor(1) : std::nullopt;
  auto both = b ? broadcastPair(call.session, *a, *b) : std::nullopt;
  return both ? std::optional(makeValueTuple({both->first, both->second})) : std::nullopt;
}

std::optional<Value> call_broadcast_to(Call &call) {
  auto input = call.tensor(0);
  auto shape = input ? call.shape(1) : std::nullopt;
  return shape ? done(broadcastTo(call.session, *input, *shape)) : std::nullopt;
}

std::optional<Value> call_expand_dims(Call &call) {
  auto input = call.tensor(0);
  auto axes = input ? call.integers(1) : std::nullopt;
  if (!axes)
    return std::nullopt;
  // Axes count in the result.
  int64_t rank = input->type.shape.size() + axes->size();
  if (!checkRank(call.session, rank))
    return std::nullopt;
  llvm::SmallVector<int64_t> places;
  for (int64_t axis : *axes) {
    if (axis < -rank || axis >= rank)
      return call.fail(diag::Kind::BadAxis, {std::to_string(axis), std::to_string(rank)});
    places.push_back(axis < 0 ? axis + rank : axis);
  }
  llvm::sort(places);
  if (std::adjacent_find(places.begin(), places.end()) != places.end()) {
    std::string text;
    for (int64_t place : places)
      text += (text.empty() ? "" : ", ") + std::to_string(place);
    return call.fail(diag::Kind::DuplicateAxes, {text});
  }
  Tensor result = *input;
  for (int64_t place : places)
    result = expandDims(call.session, result, place);
  return Value(result);
}

std::optional<Value> call_reshape(Call &call) {
  auto canReorder = call.flag(2);
  return canReorder ? reshapeTo(call, *canReorder) : std::nullopt;
}

std::optional<Value> call_view(Call &call) { return reshapeTo(call, true); }

std::optional<Value> call_ravel(Call &call) {
  auto input = call.tensor(0);
  auto canReorder = input ? call.flag(1) : std::nullopt;
  if (!canReorder)
    return std::nullopt;
  int64_t count =
      std::accumulate(input->type.shape.begin(), input->type.shape.end(), int64_t(1), std::multiplies<>());
  return Value(reshape(call.session, *input, {count}, *canReorder));
}

std::optional<Value> call_trans(Call &call) {
  auto input = call.tile(0);
  if (!input)
    return std::nullopt;
  size_t rank = input->type.shape.size();
  Order order(rank);
  std::iota(order.begin(), order.end(), 0);
  if (elementsOf(call[1])->empty()) {
    if (rank < 2)
      return call.fail(diag::Kind::TransposeRank, {spelling(input->type)});
    std::swap(order[rank - 1], order[rank - 2]);
  } else if (auto given = orderOf(call, 1, rank)) {
    order = *given;
  } else {
    return std::nullopt;
  }
  return Value(transpose(call.session, *input, order));
}

std::optional<Value> call_permute(Call &call) {
  auto input = call.tile(0);
  auto order = input ? orderOf(call, 1, input->type.shape.size()) : std::nullopt;
  return order ? std::optional<Value>(transpose(call.session, *input, *order)) : std::nullopt;
}

std::optional<Value> call_join(Call &call) { return done(join(call)); }

std::optional<Value> call_split(Call &call) {
  auto input = call.tile(0);
  if (!input)
    return std::nullopt;
  if (input->type.shape.back() != 2)
    return call.fail(diag::Kind::SplitExtent, {spelling(input->type)});
  Session &session = call.session;
  Tensor whole = *input;
  bool toScalars = whole.type.shape.size() == 1;
  if (toScalars)
    whole = expandDims(session, whole, 0);
  Type type = whole.type.withShape(llvm::ArrayRef(whole.type.shape).drop_back());
  mlir::Type lowered = lower(type, session.builder.getContext());
  auto op = tile::SplitOp::create(session.builder, session.loc(), lowered, lowered, whole.value);
  Tensor left{op.getLhs(), type}, right{op.getRhs(), type};
  if (toScalars)
    left = reshape(session, left, {}), right = reshape(session, right, {});
  return makeValueTuple({left, right});
}

std::optional<Value> call_interleave(Call &call) {
  auto joined = join(call);
  if (!joined)
    return std::nullopt;
  Shape shape = joined->type.shape;
  if (shape.size() == 1) // of two scalars
    return Value(*joined);
  shape.pop_back();
  shape.back() *= 2;
  return Value(reshape(call.session, *joined, shape));
}

// Tiles that agree but along `dim`, in one type.
std::optional<Value> call_cat(Call &call) {
  Session &session = call.session;
  auto a = call.tile(0), b = a ? call.tile(1) : std::nullopt;
  if (!b)
    return std::nullopt;
  size_t rank = a->type.shape.size();
  auto dim = call.axis(3, rank);
  if (!dim)
    return std::nullopt;
  Shape left = a->type.shape, right = b->type.shape;
  left[*dim] = 0;
  if (right.size() == rank)
    right[*dim] = 0;
  if (left != right)
    return call.fail(diag::Kind::CatShapes,
                     {spell(a->type.shape), spell(b->type.shape), std::to_string(*dim)});
  if (a->type.scalar() != b->type.scalar())
    return session.fail(diag::Kind::IncompatibleOperands, {call.row.display(), describe(*a), describe(*b)});
  Shape shape = a->type.shape;
  shape[*dim] += b->type.shape[*dim];
  if (!checkShape(session, shape))
    return std::nullopt;
  Type type = a->type.withShape(shape);
  return emit<tile::CatOp>(session, type, lower(type, session.builder.getContext()), a->value, b->value,
                           uint32_t(*dim));
}

std::optional<Value> call_gather(Call &call) {
  Session &session = call.session;
  auto source = call.tile(0), index = source ? call.tile(1) : std::nullopt;
  if (!index)
    return std::nullopt;
  if (index->type.pointer || !isInteger(index->type.element) || isBool(index->type.element))
    return call.wrong(1, "a tile of integers");
  size_t rank = source->type.shape.size();
  auto axis = call.axis(2, rank);
  if (!axis)
    return std::nullopt;
  bool fits = index->type.shape.size() == rank;
  for (size_t d = 0; fits && d < rank; ++d)
    fits = int64_t(d) == *axis || source->type.shape[d] == index->type.shape[d];
  if (!fits)
    return call.fail(diag::Kind::GatherShapes,
                     {spell(source->type.shape), spell(index->type.shape), std::to_string(*axis)});
  // The op reads indices as signed.
  if (bitWidth(index->type.element) < 32)
    index = cast(session, *index, DType::I32);
  Type type = source->type.withShape(index->type.shape);
  return emit<tile::GatherOp>(session, type, lower(type, session.builder.getContext()), source->value,
                              index->value, uint32_t(*axis));
}

std::optional<Value> call_squeeze(Call &call) {
  auto input = call.tile(0);
  auto dim = input ? call.axis(1, input->type.shape.size()) : std::nullopt;
  if (!dim)
    return std::nullopt;
  Shape shape = input->type.shape;
  if (shape[*dim] != 1)
    return call.wrong(1, "a dimension of extent 1");
  shape.erase(shape.begin() + *dim);
  return Value(reshape(call.session, *input, shape));
}

std::optional<Value> call_unsqueeze(Call &call) {
  auto input = call.tensor(0);
  auto dim = input ? call.axis(1, input->type.shape.size() + 1) : std::nullopt;
  if (!dim || !checkRank(call.session, input->type.shape.size() + 1))
    return std::nullopt;
  return expandDims(call.session, *input, *dim);
}

std::optional<Value> call_item(Call &call) {
  auto input = call.tensor(0);
  if (!input)
    return std::nullopt;
  if (llvm::any_of(input->type.shape, [](int64_t extent) { return extent != 1; }))
    return call.wrong(0, "a tile of one element");
  return Value(reshape(call.session, *input, {}));
}

} // namespace tegula::sema::builtins
