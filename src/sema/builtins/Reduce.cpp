// Reductions along an axis. tl.sum, max, min, xor_sum and reduce_or combine by one plain
// op, so that targets recognise them; tl.reduce expands the caller's function.
#include "sema/builtins/Combine.h"

#include <numeric>

namespace tegula::sema::builtins {
namespace arith = mlir::arith;
using CompareOp = syntax::CompareOperator;

namespace {

struct Reduction {
  std::vector<Tensor> inputs;  // of one shape
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
      input = reshape(session, input,
                      std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>()),
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
  auto finish = [&](mlir::ValueRange values) {
    tile::ReduceReturnOp::create(session.builder, session.loc(), values);
  };
  if (!buildCombine(session, op.getCombine(), types, combine, finish)) {
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
    return std::optional(
        std::vector{emit<arith::SelectOp>(session, a[0].type, keep.value, a[0].value, b[0].value),
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
  auto wide = value ? cast(call.session, *value, accumulatorType(*type)) : std::nullopt;
  auto reduction = wide ? reductionOf(call, {*wide}, Axis, KeepDims) : std::nullopt;
  if (!reduction)
    return std::nullopt;
  auto sum = isFloat(*type) ? reduceBy<arith::AddFOp>(call.session, std::move(*reduction))
                            : reduceBy<arith::AddIOp>(call.session, std::move(*reduction));
  return sum ? cast(call.session, *sum->tensor(), *type) : std::nullopt;
}

std::optional<Value> call_max(Call &call) { return extremumCall(call, Extremum::Max); }
std::optional<Value> call_min(Call &call) { return extremumCall(call, Extremum::Min); }
std::optional<Value> call_argmax(Call &call) { return argumentOfExtremum(call, Extremum::Max); }
std::optional<Value> call_argmin(Call &call) { return argumentOfExtremum(call, Extremum::Min); }
std::optional<Value> call_xor_sum(Call &call) { return reduceBits<arith::XOrIOp>(call); }
std::optional<Value> call_reduce_or(Call &call) { return reduceBits<arith::OrIOp>(call); }

std::optional<Value> call_reduce(Call &call) {
  enum { Input, Axis, CombineFn, KeepDims };
  auto inputs = combinedInputs(call);
  auto reduction = inputs ? reductionOf(call, *inputs, Axis, KeepDims) : std::nullopt;
  if (!reduction)
    return std::nullopt;
  auto results =
      run(call.session, std::move(*reduction), [&](llvm::ArrayRef<Tensor> a, llvm::ArrayRef<Tensor> b) {
        return callCombine(call, CombineFn, a, b);
      });
  return results ? std::optional(likeInputs(call, std::move(*results))) : std::nullopt;
}

// Values narrower than 32 bits are widened as what they are: the op reads them as unsigned.
std::optional<Value> call_histogram(Call &call) {
  enum { Input, NumBins, Mask };
  Session &session = call.session;
  auto input = integerTile(call);
  if (!input)
    return std::nullopt;
  if (input->type.shape.size() != 1)
    return call.wrong(Input, "a tile of one dimension");
  auto bins = call.integer(NumBins);
  if (!bins)
    return std::nullopt;
  Type type = Type{DType::I32}.withShape(*bins);
  if (!checkShape(session, type.shape))
    return std::nullopt;
  mlir::Value mask;
  if (!call.isNone(Mask)) {
    auto given = call.tensor(Mask);
    if (!given)
      return std::nullopt;
    if (given->type.pointer || !isBool(given->type.element))
      return call.wrong(Mask, "int1");
    auto wide = broadcastTo(session, *given, input->type.shape);
    if (!wide)
      return std::nullopt;
    mask = wide->value;
  }
  Tensor values = *cast(session, *input, sumType(input->type.element));
  return emit<tile::HistogramOp>(session, type, lower(type, session.builder.getContext()), values.value,
                                 mask);
}

} // namespace tegula::sema::builtins
