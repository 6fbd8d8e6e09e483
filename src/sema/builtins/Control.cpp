// What a program knows of its grid, promises to the compiler, and names that only mean
// something to a `for` or `while`.
#include "sema/builtins/Call.h"

#include "mlir/IR/Matchers.h"

namespace tegula::sema::builtins {
namespace {

std::optional<uint32_t> gridAxis(Call &call, std::string_view builtin) {
  auto axis = call.integer(0);
  if (axis && (*axis < 0 || *axis > 2))
    return call.session.fail(diag::Kind::GridAxis, {builtin, std::to_string(*axis)});
  return axis ? std::optional(uint32_t(*axis)) : std::nullopt;
}

// A parameter's divisibility is an attribute of the function; its other promises are dropped,
// since a scalar has no run.
void promiseOfParameter(mlir::BlockArgument argument, llvm::StringRef attribute, int64_t value) {
  auto function = llvm::cast<tile::FuncOp>(argument.getOwner()->getParentOp());
  if (attribute != "tt.divisibility" || value < 1 || value > INT32_MAX)
    return;
  auto known = function.getArgAttrOfType<mlir::IntegerAttr>(argument.getArgNumber(), attribute);
  if (!known || known.getInt() < value)
    function.setArgAttr(argument.getArgNumber(), attribute,
                        mlir::Builder(function.getContext()).getI32IntegerAttr(int32_t(value)));
}

// A promise travels as an attribute of the op that made the value. Constants need none.
void attach(Session &session, mlir::Value value, llvm::StringRef attribute, llvm::ArrayRef<int64_t> entries) {
  if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(value)) {
    if (llvm::isa<tile::FuncOp>(argument.getOwner()->getParentOp()))
      return promiseOfParameter(argument, attribute, entries.front());
    mlir::Builder builder(value.getContext());
    std::string name = ("tt.address_" + attribute.drop_front(3)).str();
    session.promises[value].push_back(
        {session.builder.getInsertionBlock(),
         builder.getNamedAttr(name, mlir::DenseI64ArrayAttr::get(value.getContext(), entries))});
    return;
  }
  mlir::Operation *op = value.getDefiningOp();
  if (!llvm::isa<mlir::arith::ConstantOp>(op))
    op->setAttr(attribute, mlir::DenseI64ArrayAttr::get(op->getContext(), entries));
}

std::optional<Value> promise(Call &call, llvm::StringRef attribute) {
  auto input = call.tensor(0);
  auto values = input ? call.integers(1) : std::nullopt;
  if (!values)
    return std::nullopt;
  if (values->size() != std::max<size_t>(input->type.shape.size(), 1))
    return call.wrong(1, "one integer for each dimension");
  attach(call.session, input->value, attribute, *values);
  return Value(*input);
}

std::optional<int64_t> constantScalar(mlir::Value value) {
  llvm::APInt number;
  return mlir::matchPattern(value, mlir::m_ConstantInt(&number)) ? number.trySExtValue() : std::nullopt;
}

// `x % c == 0` of scalars is the promise that tl.multiple_of makes.
void attachAssumedDivisibility(Session &session, mlir::Value condition) {
  auto compare = condition.getDefiningOp<mlir::arith::CmpIOp>();
  if (!compare || compare.getPredicate() != mlir::arith::CmpIPredicate::eq ||
      constantScalar(compare.getRhs()) != 0)
    return;
  mlir::Operation *remainder = compare.getLhs().getDefiningOp();
  if (!llvm::isa_and_nonnull<mlir::arith::RemSIOp, mlir::arith::RemUIOp>(remainder))
    return;
  if (auto divisor = constantScalar(remainder->getOperand(1)); divisor && *divisor > 0)
    attach(session, remainder->getOperand(0), "tt.divisibility", *divisor);
}

std::optional<Value> onlyInLoop(Call &call, std::string_view statement) {
  return call.fail(diag::Kind::OnlyInLoop, {std::string(statement)});
}

} // namespace

std::optional<Value> call_program_id(Call &call) {
  auto axis = gridAxis(call, "program_id");
  return axis ? std::optional<Value>(emit<tile::GetProgramIdOp>(call.session, Type{DType::I32}, *axis))
              : std::nullopt;
}

std::optional<Value> call_num_programs(Call &call) {
  auto axis = gridAxis(call, "num_programs");
  return axis ? std::optional<Value>(emit<tile::GetNumProgramsOp>(call.session, Type{DType::I32}, *axis))
              : std::nullopt;
}

// Only divisibility is read; the rest must still be a condition.
std::optional<Value> call_assume(Call &call) {
  auto condition = call.tensor(0);
  if (!condition)
    return std::nullopt;
  if (condition->type.pointer || !isBool(condition->type.element))
    return call.wrong(0, "a condition");
  // What holds in a branch need not hold outside of it.
  if (llvm::isa<tile::FuncOp>(call.session.builder.getInsertionBlock()->getParentOp()))
    attachAssumedDivisibility(call.session, condition->value);
  return Value();
}

std::optional<Value> call_multiple_of(Call &call) { return promise(call, "tt.divisibility"); }
std::optional<Value> call_max_contiguous(Call &call) { return promise(call, "tt.contiguity"); }
std::optional<Value> call_max_constancy(Call &call) { return promise(call, "tt.constancy"); }

std::optional<Value> call_debug_barrier(Call &call) {
  tile::BarrierOp::create(call.session.builder, call.session.loc());
  return Value();
}

std::optional<Value> cuda_num_warps(Call &call) { return Value(makeInt(call.session.options.numWarps)); }
std::optional<Value> cuda_num_threads(Call &call) {
  return Value(makeInt(call.session.options.numWarps * 32));
}

std::optional<Value> call_constexpr(Call &call) { return call[0]; }

std::optional<Value> call_range(Call &call) { return onlyInLoop(call, "for"); }
std::optional<Value> call_static_range(Call &call) { return onlyInLoop(call, "for"); }
std::optional<Value> call_condition(Call &call) { return onlyInLoop(call, "while"); }

} // namespace tegula::sema::builtins
