// Scans along an axis. tl.cumsum and cumprod combine by one plain op, so that targets recognise
// them; tl.associative_scan expands the caller's function.
#include "sema/builtins/Combine.h"

namespace tegula::sema::builtins {
namespace arith = mlir::arith;

namespace {

std::optional<std::vector<Tensor>> scan(Session &session, llvm::ArrayRef<Tensor> inputs, int64_t axis,
                                        bool reverse, Combine combine) {
  std::vector<Type> types;
  llvm::SmallVector<mlir::Value> operands;
  llvm::SmallVector<mlir::Type> lowered;
  for (const Tensor &input : inputs) {
    types.push_back(input.type.scalar());
    operands.push_back(input.value);
    lowered.push_back(input.value.getType());
  }
  auto op = tile::ScanOp::create(session.builder, session.loc(), lowered, operands, uint32_t(axis), reverse);
  auto finish = [&](mlir::ValueRange values) {
    tile::ScanReturnOp::create(session.builder, session.loc(), values);
  };
  if (!buildCombine(session, op.getCombine(), types, combine, finish)) {
    op.erase();
    return std::nullopt;
  }
  std::vector<Tensor> results;
  for (auto [value, input] : llvm::zip(op.getResults(), inputs))
    results.push_back({value, input.type});
  return results;
}

// Running sums or products in the type of `given`.
template <class OnFloats, class OnIntegers>
std::optional<Value> cumulate(Call &call, const Tensor &given, size_t axisAt, size_t reverseAt) {
  auto axis = call.axis(axisAt, given.type.shape.size());
  auto reverse = axis ? call.flag(reverseAt) : std::nullopt;
  if (!reverse)
    return std::nullopt;
  Session &session = call.session;
  const Tensor input = *cast(session, given, accumulatorType(given.type.element));
  auto results =
      scan(session, input, *axis, *reverse, [&](llvm::ArrayRef<Tensor> a, llvm::ArrayRef<Tensor> b) {
        Tensor one = isFloat(input.type.element)
                         ? emit<OnFloats>(session, a[0].type, a[0].value, b[0].value)
                         : emit<OnIntegers>(session, a[0].type, a[0].value, b[0].value);
        return std::optional(std::vector{one});
      });
  return results ? cast(session, (*results)[0], given.type.element) : std::nullopt;
}

// A tile of numbers; sums and products of bfloat16 are fp32.
std::optional<Tensor> numbers(Call &call) {
  auto input = call.tile(0);
  if (input && input->type.pointer)
    return call.wrong(0, "a tile of numbers");
  return input && input->type.element == DType::BF16 ? cast(call.session, *input, DType::F32) : input;
}

} // namespace

std::optional<Value> call_associative_scan(Call &call) {
  enum { Input, Axis, CombineFn, Reverse };
  auto inputs = combinedInputs(call);
  auto axis = inputs ? call.axis(Axis, (*inputs)[0].type.shape.size()) : std::nullopt;
  auto reverse = axis ? call.flag(Reverse) : std::nullopt;
  if (!reverse)
    return std::nullopt;
  auto results =
      scan(call.session, *inputs, *axis, *reverse, [&](llvm::ArrayRef<Tensor> a, llvm::ArrayRef<Tensor> b) {
        return callCombine(call, CombineFn, a, b);
      });
  return results ? std::optional(likeInputs(call, std::move(*results))) : std::nullopt;
}

std::optional<Value> call_cumsum(Call &call) {
  enum { Input, Axis, Reverse, Dtype };
  auto input = numbers(call);
  if (!input)
    return std::nullopt;
  std::optional<DType> type = sumType(input->type.element);
  if (!call.isNone(Dtype))
    type = call.dtype(Dtype);
  input = type ? cast(call.session, *input, *type) : std::nullopt;
  return input ? cumulate<arith::AddFOp, arith::AddIOp>(call, *input, Axis, Reverse) : std::nullopt;
}

std::optional<Value> call_cumprod(Call &call) {
  enum { Input, Axis, Reverse, Dtype };
  auto input = numbers(call);
  if (input && !call.isNone(Dtype)) {
    std::optional<DType> type = call.dtype(Dtype);
    input = type ? cast(call.session, *input, *type) : std::nullopt;
  }
  return input ? cumulate<arith::MulFOp, arith::MulIOp>(call, *input, Axis, Reverse) : std::nullopt;
}

} // namespace tegula::sema::builtins
