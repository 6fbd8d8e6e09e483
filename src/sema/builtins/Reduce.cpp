// Reductions along an axis. tl.sum, max, min, xor_sum and reduce_or combine by one plain
// op, so that targets recognise them; tl.reduce expands the caller's function.
#include "sema/builtins/Call.h"

#include <numeric>

namespace tegula::sema::builtins {
namespace arith = mlir::arith;
using CompareOp = syntax::CompareOperator;

namespace {

// Makes the combined scalars of accumulated and next ones; nullopt after a diagnostic.
using Combine = llvm::function_ref<std::optional<std::vector<Tensor>>(llvm::ArrayRef<Tensor> accumulated,
                                                                      llvm::ArrayRef<Tensor> next)>;

struct Reduction {
  std::vector<Tensor> inputs; // of one shape
  std::optional<int64_t> axis; // none: over all elements
  bool keepDims = false;
};

// What a reduction takes from its call: tiles, an axis, keep_dims.
std::optional<Reduction> reductionOf(Call &call, std::vector<Tensor> inputs, size_t axis, size_t keepDims) {
  auto keep = call.flag(keepDims);
  if (!keep)
    return std::nullopt;
  Reduction reduction{std::move(inputs), std::nullopt, *keep};
  if (!call.isNone(axis)) {
    reduction.axis = call.axis(axis, reduction.inputs[0].type.shape.size());
    if (!reduction.axis)
      return std::nullopt;
  }
  return reduction;
}

std::vector<Type> scalarTypes(llvm::ArrayRef<Tensor> tensors) {
  std::vector<Type> types;
  for (const Tensor &tensor : tensors)
    types.push_back(tensor.type.scalar());
  return types;
}

// Fills the region of `op`; false after a diagnostic.
bool buildRegion(Session &session, tile::ReduceOp op, llvm::ArrayRef<Type> types, Combine combine) {
  mlir::OpBuilder::InsertionGuard guard(session.builder);
  mlir::Block *block = session.builder.createBlock(&op.getCombine());
  std::vector<Tensor> scalars;
  for (int side = 0; side < 2; ++side)
    for (const Type &type : types)
      scalars.push_back({block->addArgument(lower(type, session.builder.getContext()), session.loc()), type});
  llvm::ArrayRef<Tensor> all(scalars);
  auto results = combine(all.take_front(types.size()), all.drop_front(types.size()));
  if (!results)
    return false;
  llvm::SmallVector<mlir::Value> values;
  for (const Tensor &result : *results)
    values.push_back(result.value);
  tile::ReduceReturnOp::create(session.builder, session.loc(), values);
  return true;
}

// New dimensions of extent 1 where the reduced ones were.
Tensor restoreDims(Session &session, Tensor result, const Reduction &reduction, size_t rank) {
  if (!reduction.keepDims)
    return result;
  if (reduction.axis)
    return expandDims(session, result, *reduction.axis);
  return splat(session, result, Shape(rank, 1));
}

std::optional<std::vector<Tensor>> run(Session &session, Reduction reduction, Combine combine) {
  size_t rank = reduction.inputs[0].type.shape.size();
  int64_t axis = reduction.axis.value_or(0);
  if (!reduction.axis) // over all elements: the order is free, so is that of the reshape
    for (Tensor &input : reduction.inputs) {
      const Shape &shape = input.type.shape;
      input = reshape(session, input, std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>()),
                      /*allowReorder=*/true);
    }
  Shape reduced = reduction.inputs[0].type.shape;
  reduced.erase(reduced.begin() + axis);
  std::vector<Type> types = scalarTypes(reduction.inputs);
  llvm::SmallVector<mlir::Value> operands;
  llvm::SmallVector<mlir::Type> lowered;
  for (const Tensor &input : reduction.inputs) {
    operands.push_back(input.value);
    lowered.push_back(lower(input.type.withShape(reduced), session.builder.getContext()));
  }
  auto op = tile::ReduceOp::create(session.builder, session.loc(), lowered, operands, uint32_t(axis));
  if (!buildRegion(session, op, types, combine)) {
    op.erase();
    return std::nullopt;
  }
  std::vector<Tensor> results;
  for (auto [value, type] : llvm::zip(op.getResults(), types))
    results.push_back(restoreDims(session, Tensor{value, type.withShape(reduced)}, reduction, rank));
  return results;
}

// Reduces one tile by one op on two scalars.
template <class Op> std::optional<Value> reduceBy(Session &session, Reduction reduction) {
  auto results = run(session, std::move(reduction), [&](llvm::ArrayRef<Tensor> a, llvm::ArrayRef<Tensor> b) {
    // 8-bit floats are computed in fp32, within the region.
    if constexpr (std::is_same_v<Op, arith::AddFOp>)
      return std::optional(std::vector{emitFloat<Op>(session, a[0], b[0])});
    else
      return std::optional(std::vector{emit<Op>(session, a[0].type, a[0].value, b[0].value)});
  });
  return results ? std::optional<Value>((*results)[0]) : std::nullopt;
}

// ---- extrema ----------------------------------------------------------------------------

enum class Extremum { Max, Min };

// In which type the values of an extremum are computed, and given.
DType extremumType(DType element, bool withIndices) {
  if (element == DType::BF16)
    return DType::F32;
  if (withIndices || bitWidth(element) >= 32)
    return element;
  return isFloat(element) ? DType::F32 : DType::I32;
}

std::optional<Value> extremum(Session &session, Reduction reduction, Extremum which) {
  DType type = reduction.inputs[0].type.element;
  bool isMax = which == Extremum::Max;
  if (isFloat(type))
    return isMax ? reduceBy<arith::MaxNumFOp>(session, std::move(reduction))
                 : reduceBy<arith::MinNumFOp>(session, std::move(reduction));
  if (isSigned(type))
    return isMax ? reduceBy<arith::MaxSIOp>(session, std::move(reduction))
                 : reduceBy<arith::MinSIOp>(session, std::move(reduction));
  return isMax ? reduceBy<arith::MaxUIOp>(session, std::move(reduction))
               : reduceBy<arith::MinUIOp>(session, std::move(reduction));
}

// (value, index) of the extremum. Comparisons are ordered, so what a NaN gives depends on
// the order of elements, as upstream.
std::optional<std::vector<Tensor>> extremumWithIndex(Session &session, Reduction reduction, Extremum which,
                                                     bool tieBreakLeft) {
  const Shape shape = reduction.inputs[0].type.shape;
  reduction.inputs.push_back(indicesAlong(session, shape, *reduction.axis));
  CompareOp better = which == Extremum::Max ? CompareOp::Gt : CompareOp::Lt;
  return run(session, std::move(reduction), [&](llvm::ArrayRef<Tensor> a, llvm::ArrayRef<Tensor> b) {
    Tensor keep = emitCompare(session, better, a[0], b[0]);
    if (tieBreakLeft) {
      Tensor equal = emitCompare(session, CompareOp::Eq, a[0], b[0]);
      Tensor earlier = emitCompare(session, CompareOp::Lt, a[1], b[1]);
      Tensor tie = emit<arith::AndIOp>(session, keep.type, equal.value, earlier.value);
      keep = emit<arith::OrIOp>(session, keep.type, keep.value, tie.value);
    }
    return std::optional(std::vector{
        emit<arith::SelectOp>(session, a[0].type, keep.value, a[0].value, b[0].value),
        emit<arith::SelectOp>(session, a[1].type, keep.value, a[1].value, b[1].value)});
  });
}

std::optional<Tensor> extremumInput(Call &call, bool withIndices) {
  auto input = call.tile(0);
  if (input && input->type.pointer)
    return call.wrong(0, "a tile of numbers");
  return input ? cast(call.session, *input, extremumType(input->type.element, withIndices)) : std::nullopt;
}

std::optional<Value> extremumCall(Call &call, Extremum which) {
  enum { Input, Axis, ReturnIndices, TieBreakLeft, KeepDims };
  auto withIndices = call.flag(ReturnIndices), left = withIndices ? call.flag(TieBreakLeft) : std::nullopt;
  auto input = left ? extremumInput(call, *withIndices) : std::nullopt;
  auto reduction = input ? reductionOf(call, {*input}, Axis, KeepDims) : std::nullopt;
  if (!reduction)
    return std::nullopt;
  if (!*withIndices)
    return extremum(call.session, std::move(*reduction), which);
  if (!reduction->axis)
    return call.wrong(Axis, "an axis where indices are wanted");
  auto results = extremumWithIndex(call.session, std::move(*reduction), which, *left);
  return results ? std::optional(makeValueTuple({(*results)[0], (*results)[1]})) : std::nullopt;
}

std::optional<Value> argumentOfExtremum(Call &call, Extremum which) {
  enum { Input, Axis, TieBreakLeft, KeepDims };
  auto left = call.flag(TieBreakLeft);
  auto input = left ? extremumInput(call, /*withIndices=*/true) : std::nullopt;
  auto reduction = input ? reductionOf(call, {*input}, Axis, KeepDims) : std::nullopt;
  if (!reduction)
    return std::nullopt;
  if (!reduction->axis)
    return call.wrong(Axis, "an axis");
  auto results = extremumWithIndex(call.session, std::move(*reduction), which, *left);
  return results ? std::optional<Value>((*results)[1]) : std::nullopt;
}

// ---- sums -------------------------------------------------------------------------------

DType sumType(DType element) {
  if (isFloat(element) || bitWidth(element) >= 32)
    return element;
  return isSigned(element) ? DType::I32 : DType::U32;
}

std::optional<Tensor> integerTile(Call &call) {
  auto input = call.tile(0);
  if (input && (input->type.pointer || isFloat(input->type.element)))
    return call.fail(diag::Kind::BuiltinDType, {"an integer", spelling(input->type)});
  return input;
}

template <class Op> std::optional<Value> reduceBits(Call &call) {
  auto input = integerTile(call);
  auto reduction = input ? reductionOf(call, {*input}, 1, 2) : std::nullopt;
  return reduction ? reduceBy<Op>(call.session, std::move(*reduction)) : std::nullopt;
}

// ---- any function -----------------------------------------------------------------------

std::optional<Value> callCombine(Call &call, size_t i, std::span<const Value> arguments) {
  if (auto *constant = call[i].constant()) {
    if (auto *function = std::get_if<std::shared_ptr<const Function>>(&constant->value))
      return call.session.functions.callFunction(**function, arguments, {});
    if (auto *builtin = std::get_if<BuiltinRef>(&constant->value))
      return callBuiltin(call.session, builtin->name, arguments, {});
  }
  return call.wrong(i, "a function of the language");
}

// The function's results as scalars of the inputs' types.
std::optional<std::vector<Tensor>> combinedScalars(Call &call, size_t i, const Value &result,
                                                   llvm::ArrayRef<Tensor> like) {
  auto elements = elementsOf(result);
  if (!elements)
    elements = std::vector<Value>{result};
  std::vector<Tensor> scalars;
  bool fits = elements->size() == like.size();
  for (size_t e = 0; fits && e < like.size(); ++e) {
    auto scalar = toTensor(call.session, (*elements)[e]);
    if (!scalar)
      return std::nullopt;
    fits = scalar->type == like[e].type;
    scalars.push_back(*scalar);
  }
  if (fits)
    return scalars;
  std::string got, want;
  for (const Value &element : *elements)
    got += (got.empty() ? "" : ", ") + describe(element);
  for (const Tensor &tensor : like)
    want += (want.empty() ? "" : ", ") + spelling(tensor.type);
  return call.fail(diag::Kind::CombineResult, {got, want});
}

// The tiles of tl.reduce: one, or a tuple of tiles that are brought to one shape.
std::optional<std::vector<Tensor>> reduceInputs(Call &call) {
  auto elements = elementsOf(call[0]);
  if (!elements)
    elements = std::vector<Value>{call[0]};
  std::vector<Tensor> tiles;
  for (const Value &element : *elements) {
    if (!element.tensor() || element.tensor()->type.isScalar())
      return call.wrong(0, "a tile, or a tuple of tiles");
    tiles.push_back(*element.tensor());
    if (tiles.back().type.shape != tiles[0].type.shape)
      return call.wrong(0, "tiles of one shape");
  }
  if (tiles.empty())
    return call.wrong(0, "a tile, or a tuple of tiles");
  return tiles;
}

} // namespace

std::optional<Value> call_sum(Call &call) {
  enum { Input, Axis, KeepDims, Dtype };
  auto input = call.tile(Input);
  if (!input)
    return std::nullopt;
  if (input->type.pointer)
    return call.wrong(Input, "a tile of numbers");
  std::optional<DType> type = sumType(input->type.element);
  if (!call.isNone(Dtype))
    type = call.dtype(Dtype);
  auto value = type ? cast(call.session, *input, *type) : std::nullopt;
  auto reduction = value ? reductionOf(call, {*value}, Axis, KeepDims) : std::nullopt;
  if (!reduction)
    return std::nullopt;
  return isFloat(*type) ? reduceBy<arith::AddFOp>(call.session, std::move(*reduction))
                        : reduceBy<arith::AddIOp>(call.session, std::move(*reduction));
}

std::optional<Value> call_max(Call &call) { return extremumCall(call, Extremum::Max); }
std::optional<Value> call_min(Call &call) { return extremumCall(call, Extremum::Min); }
std::optional<Value> call_argmax(Call &call) { return argumentOfExtremum(call, Extremum::Max); }
std::optional<Value> call_argmin(Call &call) { return argumentOfExtremum(call, Extremum::Min); }
std::optional<Value> call_xor_sum(Call &call) { return reduceBits<arith::XOrIOp>(call); }
std::optional<Value> call_reduce_or(Call &call) { return reduceBits<arith::OrIOp>(call); }

std::optional<Value> call_reduce(Call &call) {
  enum { Input, Axis, CombineFn, KeepDims };
  auto inputs = reduceInputs(call);
  auto reduction = inputs ? reductionOf(call, *inputs, Axis, KeepDims) : std::nullopt;
  if (!reduction)
    return std::nullopt;
  auto results = run(call.session, std::move(*reduction), [&](llvm::ArrayRef<Tensor> a, llvm::ArrayRef<Tensor> b)
                         -> std::optional<std::vector<Tensor>> {
    std::vector<Value> arguments(a.begin(), a.end());
    arguments.insert(arguments.end(), b.begin(), b.end());
    auto combined = callCombine(call, CombineFn, arguments);
    return combined ? combinedScalars(call, CombineFn, *combined, a) : std::nullopt;
  });
  if (!results)
    return std::nullopt;
  if (!elementsOf(call[Input]))
    return Value((*results)[0]);
  return makeValueTuple({results->begin(), results->end()});
}

} // namespace tegula::sema::builtins
