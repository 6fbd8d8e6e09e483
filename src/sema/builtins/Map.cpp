// tl.map_elementwise: a function of the language on each element. It needs no op of its own: a reduction over
// an axis of two equal elements calls its function once for each element of what is left, and the function
// may branch. Results are accumulators that start as zeros and that nobody reads.
#include "sema/builtins/Combine.h"

namespace tegula::sema::builtins {
namespace {

enum { ScalarFn, Args, Pack };

// The arguments in their common shape.
std::optional<std::vector<Tensor>> inOneShape(Call &call) {
  std::vector<Tensor> tiles;
  const std::vector<Value> values = *elementsOf(call[Args]);
  for (const Value &value : values) {
    auto tensor = toTensor(call.session, value);
    if (!tensor)
      return std::nullopt;
    tiles.push_back(*tensor);
  }
  if (tiles.empty())
    return call.wrong(Args, "at least one tile");
  Shape common(tiles[0].type.shape);
  for (const Tensor &tile : tiles) {
    Tensor like = literalTile(call.session, makeInt(0), DType::I32, common);
    auto pair = broadcastPair(call.session, like, tile);
    if (!pair)
      return std::nullopt;
    common = Shape(pair->second.type.shape);
  }
  for (Tensor &tile : tiles) {
    auto spread = broadcastTo(call.session, tile, common);
    if (!spread)
      return std::nullopt;
    tile = *spread;
  }
  return tiles;
}

// The tiles of every `pack`th element, from the first, the second, ...: halves of halves. What a half holds
// at its index i was at 2i and 2i + 1.
std::vector<Tensor> spreadOut(Session &session, const Tensor &tile, size_t pack) {
  if (pack == 1)
    return {tile};
  Shape split(tile.type.shape);
  split.back() /= 2;
  Shape half = split;
  split.push_back(2);
  Tensor pairs = reshape(session, tile, split);
  mlir::Type lowered = lower(tile.type.withShape(half), session.builder.getContext());
  auto op = tile::SplitOp::create(session.builder, session.loc(), lowered, lowered, pairs.value);
  std::vector<Tensor> result(pack, tile);
  for (size_t side = 0; side < 2; ++side) {
    auto inner = spreadOut(session, {op->getResult(side), tile.type.withShape(half)}, pack / 2);
    for (size_t i = 0; i < inner.size(); ++i)
      result[2 * i + side] = inner[i];
  }
  return result;
}

Tensor sideBySide(Session &session, const Tensor &a, const Tensor &b) {
  Shape shape(a.type.shape);
  shape.push_back(2);
  const Type type = a.type.withShape(shape);
  return emit<tile::JoinOp>(session, type, lower(type, session.builder.getContext()), a.value, b.value);
}

// The inverse of spreadOut.
Tensor together(Session &session, llvm::ArrayRef<Tensor> tiles) {
  if (tiles.size() == 1)
    return tiles[0];
  std::vector<Tensor> sides[2];
  for (size_t i = 0; i < tiles.size(); ++i)
    sides[i % 2].push_back(tiles[i]);
  Tensor pairs = sideBySide(session, together(session, sides[0]), together(session, sides[1]));
  Shape whole(pairs.type.shape);
  whole.pop_back();
  whole.back() *= 2;
  return reshape(session, pairs, whole);
}

// The results of one call of the function as run-time scalars.
std::optional<std::vector<Tensor>> scalarsOf(Call &call, const Value &result) {
  auto elements = elementsOf(result);
  if (!elements)
    elements = std::vector<Value>{result};
  std::vector<Tensor> scalars;
  for (const Value &element : *elements) {
    auto *tensor = element.tensor();
    bool isOne = tensor ? tensor->type.isScalar() && !tensor->type.pointer : isNumber(element);
    auto scalar = isOne ? toTensor(call.session, element) : std::nullopt;
    if (!scalar)
      return call.fail(diag::Kind::CombineResult, {describe(element), "one number, or a tuple of numbers"});
    scalars.push_back(*scalar);
  }
  if (scalars.empty())
    return call.fail(diag::Kind::CombineResult, {"an empty tuple", "one number, or a tuple of numbers"});
  return scalars;
}

std::optional<std::vector<Tensor>> applied(Call &call, llvm::ArrayRef<Tensor> arguments) {
  auto result = callArgument(call, ScalarFn, std::vector<Value>(arguments.begin(), arguments.end()));
  return result ? scalarsOf(call, *result) : std::nullopt;
}

// A block within the kernel whose ops are thrown away, with what was promised of their values.
class ThrownAway {
public:
  explicit ThrownAway(Session &session)
      : session_(session), guard_(session.builder), promises_(session.promises) {
    within_ = mlir::scf::ExecuteRegionOp::create(session.builder, session.loc(), mlir::TypeRange());
    block = session.builder.createBlock(&within_.getRegion());
  }
  ThrownAway(const ThrownAway &) = delete;
  ~ThrownAway() {
    within_.erase();
    session_.promises = std::move(promises_);
  }
  mlir::Region &region() { return within_.getRegion(); }

  mlir::Block *block;

private:
  Session &session_;
  mlir::OpBuilder::InsertionGuard guard_;
  decltype(Session::promises) promises_;
  mlir::scf::ExecuteRegionOp within_;
};

// The types that the function gives, from a walk over its body that is thrown away.
std::optional<std::vector<Type>> resultTypes(Call &call, llvm::ArrayRef<Tensor> arguments, bool &isTuple) {
  Session &session = call.session;
  ThrownAway scratch(session);
  std::vector<Value> scalars;
  for (const Tensor &argument : arguments) {
    Type type = argument.type.scalar();
    scalars.push_back(
        Tensor{scratch.block->addArgument(lower(type, session.builder.getContext()), session.loc()), type});
  }
  auto result = callArgument(call, ScalarFn, scalars);
  auto values = result ? scalarsOf(call, *result) : std::nullopt;
  if (!values || !checkScalarFunction(call, scratch.region(), *values, /*mayComplain=*/false))
    return std::nullopt;
  isTuple = elementsOf(*result).has_value();
  std::vector<Type> types;
  for (const Tensor &value : *values)
    types.push_back(value.type);
  return types;
}

// The function on each element: the reduction, whose accumulators behind the arguments are the results.
std::optional<std::vector<Tensor>> mapped(Call &call, llvm::ArrayRef<Tensor> arguments,
                                          llvm::ArrayRef<Type> types) {
  Session &session = call.session;
  const Shape shape(arguments[0].type.shape);
  Shape twice = shape;
  twice.push_back(2);
  llvm::SmallVector<mlir::Value> operands;
  llvm::SmallVector<mlir::Type> lowered;
  std::vector<Type> scalars;
  auto add = [&](const Tensor &pairs) {
    operands.push_back(pairs.value);
    lowered.push_back(lower(pairs.type.withShape(shape), session.builder.getContext()));
    scalars.push_back(pairs.type.scalar());
  };
  for (const Tensor &argument : arguments)
    add(sideBySide(session, argument, argument));
  for (const Type &type : types)
    add(literalTile(session, makeInt(0), type.element, twice));
  auto op = tile::ReduceOp::create(session.builder, session.loc(), lowered, operands, uint32_t(shape.size()));
  auto finish = [&](mlir::ValueRange values) {
    tile::ReduceReturnOp::create(session.builder, session.loc(), values);
  };
  bool built = buildCombine(
      session, op.getCombine(), scalars,
      [&](llvm::ArrayRef<Tensor>, llvm::ArrayRef<Tensor> next) {
        auto given = next.take_front(arguments.size());
        auto results = applied(call, given);
        if (results)
          results->insert(results->begin(), given.begin(), given.end());
        return results;
      },
      finish);
  if (!built) {
    op.erase();
    return std::nullopt;
  }
  std::vector<Tensor> results;
  for (size_t i = 0; i < types.size(); ++i)
    results.push_back({op.getResult(unsigned(arguments.size() + i)), types[i].withShape(shape)});
  return results;
}

} // namespace

std::optional<Value> call_map_elementwise(Call &call) {
  Session &session = call.session;
  auto pack = call.integer(Pack);
  if (pack && (*pack < 1 || *pack > 64 || !llvm::isPowerOf2_64(uint64_t(*pack))))
    return call.wrong(Pack, "a power of two from 1 to 64");
  auto tiles = pack ? inOneShape(call) : std::nullopt;
  if (!tiles)
    return std::nullopt;
  const Type &first = (*tiles)[0].type;
  if (first.isScalar() && *pack == 1)
    return callArgument(call, ScalarFn, std::vector<Value>(tiles->begin(), tiles->end()));
  if (first.isScalar() || first.shape.back() % *pack != 0)
    return call.wrong(Pack, "a divisor of the last extent of " + spelling(first));
  std::vector<Tensor> arguments;
  for (const Tensor &tile : *tiles)
    llvm::append_range(arguments, spreadOut(session, tile, size_t(*pack)));
  bool isTuple = false;
  auto types = resultTypes(call, arguments, isTuple);
  if (!types)
    return std::nullopt;
  bool fits = types->size() % size_t(*pack) == 0;
  for (size_t i = 0; fits && i < types->size(); ++i)
    fits = (*types)[i] == (*types)[i / size_t(*pack) * size_t(*pack)];
  if (!fits)
    return call.fail(diag::Kind::CombineResult,
                     {std::to_string(types->size()) + " values",
                      "for each result " + std::to_string(*pack) + " of one type"});
  auto results = mapped(call, arguments, *types);
  if (!results)
    return std::nullopt;
  std::vector<Value> whole;
  for (size_t i = 0; i < results->size(); i += size_t(*pack))
    whole.push_back(together(session, llvm::ArrayRef(*results).slice(i, size_t(*pack))));
  return isTuple ? makeValueTuple(std::move(whole)) : whole[0];
}

} // namespace tegula::sema::builtins
