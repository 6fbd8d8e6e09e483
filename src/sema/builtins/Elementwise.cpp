// Elementwise builtins that are no math function: casts, choices, extrema.
#include "ir/tile/InlineAssembly.h"
#include "sema/builtins/Call.h"

namespace tegula::sema::builtins {
namespace arith = mlir::arith;
using BinOp = syntax::BinaryOperator;

namespace {

// Extrema of bfloat16 are computed, and given, in fp32.
Value promoteBrainFloat(Session &session, const Value &value) {
  auto *tensor = value.tensor();
  bool isBrain = tensor && !tensor->type.pointer && tensor->type.element == DType::BF16;
  return isBrain ? Value(*cast(session, *tensor, DType::F32)) : value;
}

std::optional<bool> propagatesNan(Call &call, size_t i) {
  if (auto *constant = call[i].constant())
    if (auto *builtin = std::get_if<BuiltinRef>(&constant->value)) {
      if (builtin->name == "triton.language.PropagateNan.ALL")
        return true;
      if (builtin->name == "triton.language.PropagateNan.NONE")
        return false;
    }
  return call.wrong(i, "tl.PropagateNan.NONE or tl.PropagateNan.ALL");
}

template <class Quiet, class Propagating, class Signed, class Unsigned>
std::optional<Value> extremum(Call &call) {
  Session &session = call.session;
  auto propagate = propagatesNan(call, 2);
  if (!propagate)
    return std::nullopt;
  auto operands = unifyOperands(session, call.row.display(), promoteBrainFloat(session, call[0]),
                                promoteBrainFloat(session, call[1]), {.numbersPromote = true});
  // Two numbers meet as run-time scalars.
  if (!operands)
    return std::nullopt;
  auto &[a, b] = *operands;
  if (isFloat(a.type.element))
    return Value(*propagate ? emitFloat<Propagating>(session, a, b) : emitFloat<Quiet>(session, a, b));
  return Value(isSigned(a.type.element) ? emit<Signed>(session, a.type, a.value, b.value)
                                        : emit<Unsigned>(session, a.type, a.value, b.value));
}

std::optional<Value> operate(Call &call, BinOp op) {
  auto isChecked = call.flag(2);
  if (!isChecked)
    return std::nullopt;
  return (*isChecked ? checkedBinary : binary)(call.session, op, call[0], call[1]);
}

// ---- inline assembly --------------------------------------------------------------------

unsigned bitsOf(const Type &type) { return type.pointer ? 64 : bitWidth(type.element); }

size_t registersOf(llvm::ArrayRef<Type> types, int64_t pack) {
  size_t count = 0;
  for (const Type &type : types)
    count += tile::registersOfRun(bitsOf(type), unsigned(pack));
  return count;
}

// Registers in order stand for the runs of elements of `types`: each holds its part.
bool checkWidths(Call &call, llvm::ArrayRef<tile::AsmRegister> registers, llvm::ArrayRef<Type> types,
                 int64_t pack) {
  size_t at = 0;
  for (const Type &type : types)
    for (size_t i = 0; i != tile::registersOfRun(bitsOf(type), unsigned(pack)); ++i, ++at)
      if (!tile::fits(registers[at], bitsOf(type), unsigned(pack))) {
        call.fail(diag::Kind::InlineAsmWidth,
                  {std::string(1, registers[at].kind), std::to_string(registers[at].bits()),
                   std::to_string(tile::registerBits(bitsOf(type), unsigned(pack))), spelling(type)});
        return false;
      }
  return true;
}

// The constraints name a register for each output and input, and the text no others: nothing else reaches
// LLVM.
bool checkAssembly(Call &call, const std::string &text, const std::string &constraints,
                   llvm::ArrayRef<Type> results, llvm::ArrayRef<Type> operands, int64_t pack) {
  Result<tile::AsmConstraints> parsed = tile::parseAsmConstraints(constraints);
  if (!parsed) {
    call.fail(diag::Kind::InlineAsmConstraint, {parsed.status().message});
    return false;
  }
  size_t outputs = parsed->outputs.size(), inputs = parsed->inputs.size();
  size_t wantedOutputs = registersOf(results, pack), wantedInputs = registersOf(operands, pack);
  if (outputs != wantedOutputs || inputs != wantedInputs) {
    call.fail(diag::Kind::InlineAsmConstraints,
              {constraints, std::to_string(outputs) + " outputs and " + std::to_string(inputs) + " inputs",
               std::to_string(wantedOutputs) + " and " + std::to_string(wantedInputs)});
    return false;
  }
  if (!checkWidths(call, parsed->outputs, results, pack) ||
      !checkWidths(call, parsed->inputs, operands, pack))
    return false;
  Status fits = tile::checkAsmText(text, outputs + inputs);
  if (!fits.ok())
    call.fail(diag::Kind::InlineAsmText, {fits.message});
  return fits.ok();
}

std::vector<Value> argumentsOf(Call &call, size_t i) {
  auto elements = elementsOf(call[i]);
  return elements ? *elements : std::vector<Value>{call[i]};
}

// Puts the constants that inputs `n` ask for into the text, and takes them from `elements`. One element at a
// time.
bool putImmediates(Call &call, std::string &text, std::string &constraints, std::vector<Value> &elements) {
  llvm::SmallVector<bool> immediates = tile::immediatesOf(constraints);
  if (!llvm::is_contained(immediates, true) || immediates.size() != elements.size())
    return true;
  llvm::SmallVector<std::optional<int64_t>> numbers;
  std::vector<Value> others;
  for (auto [isImmediate, element] : llvm::zip(immediates, elements)) {
    std::optional<int64_t> number =
        isImmediate && element.constant() ? asInt64(*element.constant()) : std::nullopt;
    if (isImmediate && !number) {
      call.fail(diag::Kind::InlineAsmConstraint, {"the constraint 'n' asks for a constant integer"});
      return false;
    }
    numbers.push_back(number);
    if (!isImmediate)
      others.push_back(element);
  }
  tile::AsmText put = tile::withoutImmediates(text, constraints, numbers);
  text = std::move(put.text), constraints = std::move(put.constraints), elements = std::move(others);
  return true;
}

// The operands in one shape; `shape` becomes it.
std::optional<std::vector<Tensor>> inOneShape(Call &call, size_t i, const std::vector<Value> &elements,
                                              Shape &shape) {
  std::vector<Tensor> operands;
  for (const Value &element : elements) {
    if (!element.tensor() && !isNumber(element))
      return call.wrong(i, "a tuple of tiles");
    auto tensor = toTensor(call.session, element);
    // The first one takes the shape of all before it, so that the last broadcast has them all.
    auto both =
        tensor && !operands.empty() ? broadcastPair(call.session, operands[0], *tensor) : std::nullopt;
    if (!tensor || (!operands.empty() && !both))
      return std::nullopt;
    if (both)
      operands[0] = both->first;
    operands.push_back(*tensor);
    shape = operands[0].type.shape;
  }
  for (Tensor &operand : operands)
    operand = *broadcastTo(call.session, operand, shape);
  return operands;
}

struct Assembly {
  std::string text, constraints;
  bool isPure;
  int64_t pack;
};

std::vector<Value> assemble(Session &session, Assembly assembly, llvm::ArrayRef<DType> types,
                            std::vector<Tensor> operands, const Shape &shape) {
  if (operands.empty()) { // the op has one, which the text does not name
    operands.push_back(literalTile(session, makeInt(0), DType::I32, shape));
    std::string inputs;
    for (size_t i = 0; i != tile::registersOfRun(32, unsigned(assembly.pack)); ++i)
      inputs += ",r";
    assembly.constraints.insert(std::min(assembly.constraints.find(",~{"), assembly.constraints.size()),
                                inputs);
  }
  llvm::SmallVector<mlir::Value> values;
  llvm::SmallVector<mlir::Type> lowered;
  for (const Tensor &operand : operands)
    values.push_back(operand.value);
  for (DType type : types)
    lowered.push_back(lower(Type{type}.withShape(shape), session.builder.getContext()));
  auto op = tile::ElementwiseInlineAsmOp::create(session.builder, session.loc(), lowered, assembly.text,
                                                 assembly.constraints, assembly.isPure,
                                                 uint32_t(assembly.pack), values);
  std::vector<Value> made;
  for (auto [value, type] : llvm::zip(op.getResults(), types))
    made.push_back(Tensor{value, Type{type}.withShape(shape)});
  return made;
}

std::optional<std::vector<DType>> dtypesOf(Call &call, size_t i) {
  auto elements = elementsOf(call[i]);
  std::vector<DType> types;
  for (const Value &element : elements ? *elements : std::vector<Value>{call[i]}) {
    auto *type = element.constant() ? std::get_if<TypeRef>(&element.constant()->value) : nullptr;
    if (!type || type->pointer || !type->shape.empty())
      return call.wrong(i, "a dtype, or a tuple of dtypes");
    types.push_back(type->element);
  }
  return types.empty() ? call.wrong(i, "a dtype, or a tuple of dtypes") : std::optional(types);
}

} // namespace

std::optional<Value> call_inline_asm_elementwise(Call &call) {
  enum { Asm, Constraints, Args, Dtype, IsPure, Pack };
  Session &session = call.session;
  auto text = call.text(Asm), constraints = text ? call.text(Constraints) : std::nullopt;
  if (constraints)
    std::erase_if(*constraints, [](char c) { return c == ' ' || c == '\n'; }); // LLVM takes none
  auto types = constraints ? dtypesOf(call, Dtype) : std::nullopt;
  auto isPure = types ? call.flag(IsPure) : std::nullopt;
  auto pack = isPure ? call.integer(Pack) : std::nullopt;
  if (!pack)
    return std::nullopt;
  if (*pack < 1 || *pack > 64)
    return call.wrong(Pack, "from 1 to 64");
  Shape shape;
  std::vector<Value> elements = argumentsOf(call, Args);
  if (*pack == 1 && !putImmediates(call, *text, *constraints, elements))
    return std::nullopt;
  auto operands = inOneShape(call, Args, elements, shape);
  if (!operands)
    return std::nullopt;
  llvm::SmallVector<Type> results, inputs;
  for (DType type : *types)
    results.push_back(Type{type});
  for (const Tensor &operand : *operands)
    inputs.push_back(operand.type);
  if (!checkAssembly(call, *text, *constraints, results, inputs, *pack))
    return std::nullopt;
  std::vector<Value> made =
      assemble(session, {*text, *constraints, *isPure, *pack}, *types, *operands, shape);
  return elementsOf(call[Dtype]) ? makeValueTuple(std::move(made)) : made[0];
}

std::optional<Value> call_extern_call(Call &call) {
  enum { Symbol, Library, Args, Dtype, IsPure };
  Session &session = call.session;
  auto symbol = call.text(Symbol), library = symbol ? call.text(Library) : std::nullopt;
  auto type = library ? call.type(Dtype) : std::nullopt;
  auto isPure = type ? call.flag(IsPure) : std::nullopt;
  if (!isPure)
    return std::nullopt;
  if (symbol->empty() || library->empty())
    return call.wrong(symbol->empty() ? Symbol : Library, "a name");
  Shape shape;
  auto operands = inOneShape(call, Args, argumentsOf(call, Args), shape);
  if (!operands || operands->empty())
    return operands ? call.wrong(Args, "one argument or more") : std::nullopt;
  llvm::SmallVector<mlir::Value> values;
  for (const Tensor &operand : *operands)
    values.push_back(operand.value);
  Type result = Type{type->element}.withShape(shape);
  auto op = tile::ExternElementwiseOp::create(session.builder, session.loc(),
                                              lower(result, session.builder.getContext()), *symbol, *library,
                                              *isPure, values);
  return Tensor{op.getResult(), result};
}

// Instructions that read a register of the machine, or that wait: they have no operands.
static Value instruction(Call &call, const char *text, const char *constraint, DType type, bool isPure) {
  return assemble(call.session, {text, constraint, isPure, 1}, {type}, {}, {})[0];
}

std::optional<Value> cuda_globaltimer(Call &call) {
  return instruction(call, "mov.u64 $0, %globaltimer;", "=l", DType::I64, false);
}
std::optional<Value> cuda_smid(Call &call) {
  return instruction(call, "mov.u32 $0, %smid;", "=r", DType::I32, true);
}
std::optional<Value> cuda_gdc_wait(Call &call) {
  instruction(call, "mov.u32 $0, 0; griddepcontrol.wait;", "=r,~{memory}", DType::I32, false);
  return Value();
}
std::optional<Value> cuda_gdc_launch_dependents(Call &call) {
  instruction(call, "mov.u32 $0, 0; griddepcontrol.launch_dependents;", "=r,~{memory}", DType::I32, false);
  return Value();
}

std::optional<Value> call_cast(Call &call) {
  auto input = call.tensor(0);
  auto type = input ? call.type(1) : std::nullopt;
  auto bitcast = type ? call.flag(3) : std::nullopt;
  if (!bitcast)
    return std::nullopt;
  std::optional<tile::Rounding> rounding;
  if (!call.isNone(2)) {
    rounding = call.word<tile::Rounding>(2, {{"rtne", tile::Rounding::RTNE}, {"rtz", tile::Rounding::RTZ}});
    if (!rounding)
      return std::nullopt;
  }
  auto result =
      *bitcast ? bitcastTo(call.session, *input, *type) : castTo(call.session, *input, *type, rounding);
  return result ? std::optional<Value>(*result) : std::nullopt;
}

std::optional<Value> call_where(Call &call) {
  Session &session = call.session;
  auto condition = call.tensor(0);
  if (!condition)
    return std::nullopt;
  if (condition->type.pointer)
    return call.wrong(0, "a condition");
  if (!isBool(condition->type.element)) {
    session.warn(diag::Kind::ConditionNotBool, {call.row.display(), spelling(condition->type)});
    condition = cast(session, *condition, DType::I1);
  }
  auto operands = unifyOperands(session, call.row.display(), call[1], call[2],
                                {.leftPointer = true, .rightPointer = true});
  if (!operands)
    return std::nullopt;
  auto &[x, y] = *operands;
  if (x.type.scalar() != y.type.scalar())
    return session.fail(diag::Kind::IncompatibleOperands, {call.row.display(), describe(x), describe(y)});
  // All three meet in one shape; a scalar condition over tiles stays scalar in arith.select,
  // so it becomes a tile here and every target sees one form.
  auto first = broadcastPair(session, *condition, x);
  auto second = first ? broadcastPair(session, first->first, y) : std::nullopt;
  auto value = second ? broadcastTo(session, first->second, second->first.type.shape) : std::nullopt;
  if (!value)
    return std::nullopt;
  return emit<arith::SelectOp>(session, value->type, second->first.value, value->value, second->second.value);
}

std::optional<Value> call_add(Call &call) { return operate(call, BinOp::Add); }
std::optional<Value> call_sub(Call &call) { return operate(call, BinOp::Sub); }
std::optional<Value> call_mul(Call &call) { return operate(call, BinOp::Mul); }

std::optional<Value> call_maximum(Call &call) {
  return extremum<arith::MaxNumFOp, arith::MaximumFOp, arith::MaxSIOp, arith::MaxUIOp>(call);
}

std::optional<Value> call_minimum(Call &call) {
  return extremum<arith::MinNumFOp, arith::MinimumFOp, arith::MinSIOp, arith::MinUIOp>(call);
}

std::optional<Value> call_clamp(Call &call) {
  Session &session = call.session;
  auto propagate = propagatesNan(call, 3);
  if (!propagate)
    return std::nullopt;
  std::string op = call.row.display();
  Value limits[2] = {promoteBrainFloat(session, call[1]), promoteBrainFloat(session, call[2])};
  auto lower =
      unifyOperands(session, op, promoteBrainFloat(session, call[0]), limits[0], {.numbersPromote = true});
  auto upper =
      lower ? unifyOperands(session, op, lower->first, limits[1], {.numbersPromote = true}) : std::nullopt;
  auto low = upper ? unifyOperands(session, op, upper->first, lower->second) : std::nullopt;
  if (!low)
    return std::nullopt;
  auto high = unifyOperands(session, op, low->first, upper->second);
  if (!high)
    return std::nullopt;
  const Tensor &value = high->first;
  if (value.type != low->second.type)
    return session.fail(diag::Kind::IncompatibleOperands, {op, describe(value), describe(low->second)});
  if (value.type.pointer || isBool(value.type.element))
    return call.wrong(0, "a number or a tile of numbers");
  if (!isFloat(value.type.element)) {
    bool signs = isSigned(value.type.element);
    Tensor raised = signs ? emit<arith::MaxSIOp>(session, value.type, value.value, low->second.value)
                          : emit<arith::MaxUIOp>(session, value.type, value.value, low->second.value);
    return signs ? emit<arith::MinSIOp>(session, value.type, raised.value, high->second.value)
                 : emit<arith::MinUIOp>(session, value.type, raised.value, high->second.value);
  }
  if (bitWidth(value.type.element) == 8) { // computed in fp32, and one of the three
    auto wide = [&](const Tensor &tensor) { return *cast(session, tensor, DType::F32); };
    const Tensor x = wide(value), from = wide(low->second), to = wide(high->second);
    return *cast(session, emit<tile::ClampFOp>(session, x.type, x.value, from.value, to.value, *propagate),
                 value.type.element);
  }
  return emit<tile::ClampFOp>(session, value.type, value.value, low->second.value, high->second.value,
                              *propagate);
}

std::optional<Value> call_cdiv(Call &call) {
  Session &session = call.session;
  auto sum = checkedBinary(session, BinOp::Add, call[0], call[1]);
  auto last = sum ? checkedBinary(session, BinOp::Sub, *sum, Value(makeInt(1))) : std::nullopt;
  return last ? binary(session, BinOp::FloorDiv, *last, call[1]) : std::nullopt;
}

std::optional<Value> call_logical_and(Call &call) {
  return logical(call.session, syntax::BoolOperator::And, call[0], call[1]);
}

std::optional<Value> call_logical_or(Call &call) {
  return logical(call.session, syntax::BoolOperator::Or, call[0], call[1]);
}

std::optional<Value> call_umulhi(Call &call) {
  auto operands = unifyOperands(call.session, call.row.display(), call[0], call[1], {.numbersPromote = true});
  if (!operands)
    return std::nullopt;
  auto &[a, b] = *operands;
  if (isFloat(a.type.element) || bitWidth(a.type.element) < 32)
    return call.fail(diag::Kind::BuiltinDType, {"int32, int64, uint32 or uint64", spelling(a.type)});
  return emit<tile::MulhiUIOp>(call.session, a.type, a.value, b.value);
}

} // namespace tegula::sema::builtins
