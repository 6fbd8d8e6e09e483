// Values to one shape, by NumPy's rules: ranks are filled with 1 from the left, dimensions
// are equal or 1, a scalar takes any shape.
#include "sema/builtins/Emit.h"

namespace tegula::sema {

using namespace builtins;

namespace {

Tensor padRank(Session &session, Tensor value, size_t rank) {
  while (value.type.shape.size() < rank)
    value = expandDims(session, value, 0);
  return value;
}

} // namespace

std::optional<Tensor> broadcastTo(Session &session, const Tensor &value, llvm::ArrayRef<int64_t> shape) {
  if (value.type.shape == shape)
    return value;
  if (value.type.isScalar())
    return checkShape(session, shape) ? std::optional(splat(session, value, shape)) : std::nullopt;
  const Shape &from = value.type.shape;
  bool fits = from.size() <= shape.size();
  for (size_t d = 0; fits && d < from.size(); ++d) {
    int64_t to = shape[shape.size() - from.size() + d];
    fits = from[d] == to || from[d] == 1;
  }
  if (!fits)
    return session.fail(diag::Kind::CannotBroadcast, {spell(from), spell(shape)});
  if (!checkShape(session, shape))
    return std::nullopt;
  Tensor padded = padRank(session, value, shape.size());
  if (padded.type.shape == shape)
    return padded;
  Type type = value.type.withShape(shape);
  return Tensor{session.builder.createOrFold<tile::BroadcastOp>(
                    session.loc(), lower(type, session.builder.getContext()), padded.value),
                type};
}

namespace builtins {

std::optional<Pair> broadcastPair(Session &session, const Tensor &left, const Tensor &right) {
  const Shape &l = left.type.shape, &r = right.type.shape;
  if (l == r)
    return Pair{left, right};
  Shape shape(std::max(l.size(), r.size()), 1);
  for (size_t back = 1; back <= shape.size(); ++back) {
    int64_t a = back <= l.size() ? l[l.size() - back] : 1, b = back <= r.size() ? r[r.size() - back] : 1;
    if (a != b && a != 1 && b != 1)
      return session.fail(
          diag::Kind::IncompatibleShapes,
          {spell(l), spell(r), std::to_string(shape.size() - back), std::to_string(a), std::to_string(b)});
    shape[shape.size() - back] = a == 1 ? b : a;
  }
  auto a = broadcastTo(session, left, shape);
  auto b = a ? broadcastTo(session, right, shape) : std::nullopt;
  return a && b ? std::optional(Pair{*a, *b}) : std::nullopt;
}

} // namespace builtins
} // namespace tegula::sema
