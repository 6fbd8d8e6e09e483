// Checks and prints, while compiling and at run time.
#include "base/ByteFloat.h"
#include "sema/Const.h"
#include "sema/builtins/Call.h"

namespace tegula::sema::builtins {
namespace {

std::string printed(const Value &value) {
  return value.constant() ? str(*value.constant()) : describe(value);
}

// Argument `i` as int1: other numbers are compared with 0.
std::optional<Tensor> conditionOf(Call &call, size_t i) {
  auto condition = call.tensor(i);
  if (condition && condition->type.pointer)
    return call.wrong(i, "a condition");
  return condition ? cast(call.session, *condition, DType::I1) : std::nullopt;
}

// As upstream writes it: a space in front; before values a colon and a space, whose colon takes the place of
// the character in front of a space that is there already: "x" and "x:" and "x " give " x: ".
std::string spaced(std::string prefix, bool hasValues) {
  if (hasValues && !prefix.ends_with(' '))
    prefix += ' ';
  if (hasValues && !prefix.ends_with(": "))
    prefix.replace(prefix.size() - 1, 1, ": ");
  if (prefix.size() > 2 && !prefix.starts_with(' '))
    prefix = " " + prefix;
  return prefix;
}

std::optional<Value> print(Call &call, const std::string &prefix, llvm::ArrayRef<Value> values,
                           size_t hexAt) {
  auto hex = call.flag(hexAt);
  if (!hex)
    return std::nullopt;
  if (!llvm::all_of(prefix, [](unsigned char c) { return (c >= 32 && c < 127) || (c >= '\t' && c <= '\r'); }))
    return call.wrong(0, "printable ASCII");
  llvm::SmallVector<mlir::Value> operands;
  llvm::SmallVector<int32_t> areSigned;
  for (const Value &value : values) {
    if (!value.tensor() && !isNumber(value))
      return call.fail(diag::Kind::NotPrintable, {describe(value)});
    auto tensor = toTensor(call.session, value);
    if (!tensor)
      return std::nullopt;
    if (tensor->type.pointer && isPacked(tensor->type.element))
      return call.fail(diag::Kind::NotPrintable, {describe(value)});
    if (!tensor->type.pointer && isFloatInByte(tensor->type.element))
      tensor = cast(call.session, *tensor, DType::F32);
    operands.push_back(tensor->value);
    areSigned.push_back(!tensor->type.pointer && isSigned(tensor->type.element));
  }
  tile::PrintOp::create(call.session.builder, call.session.loc(), spaced(prefix, !values.empty()), *hex,
                        areSigned, operands);
  return Value();
}

} // namespace

std::optional<Value> call_static_print(Call &call) {
  enum { Values, Sep, End, File, Flush };
  auto separator = call.isNone(Sep) ? std::optional<std::string>(" ") : call.text(Sep);
  auto end = call.isNone(End) ? std::optional<std::string>("\n") : call.text(End);
  if (!separator || !end)
    return std::nullopt;
  if (!call.isNone(File))
    return call.wrong(File, "None: the host prints the text where it prints");
  std::string &line = call.session.openLine;
  const auto values = *elementsOf(call[Values]);
  for (size_t i = 0; i < values.size(); ++i)
    line += (i ? *separator : "") + printed(values[i]);
  line += *end;
  if (line.ends_with('\n'))
    call.session.endLine();
  return Value();
}

std::optional<Value> call_static_assert(Call &call) {
  // Of any constant, as Python has it; a tuple of run-time values is one where it is not empty.
  auto *constant = call[0].constant();
  bool holds = constant ? isTrue(*constant) : !elementsOf(call[0]) || !elementsOf(call[0])->empty();
  std::string message = printed(call[1]);
  if (!holds)
    return call.session.fail(diag::Kind::StaticAssertFailed, {message.empty() ? "" : ": " + message});
  return Value();
}

// Without `debug` there is no check, as upstream; its arguments are still looked at.
std::optional<Value> call_device_assert(Call &call) {
  enum { Cond, Msg, Mask };
  Session &session = call.session;
  auto condition = conditionOf(call, Cond);
  auto message = condition ? call.text(Msg) : std::nullopt;
  if (!message)
    return std::nullopt;
  if (!call.isNone(Mask)) {
    auto mask = conditionOf(call, Mask);
    auto both = mask ? broadcastPair(session, *condition, *mask) : std::nullopt;
    if (!both)
      return std::nullopt;
    auto isOff = unary(session, syntax::UnaryOperator::Invert, both->second);
    auto holds = isOff ? binary(session, syntax::BinaryOperator::Or, both->first, *isOff) : std::nullopt;
    if (!holds)
      return std::nullopt;
    condition = *holds->tensor();
  }
  if (session.options.debug)
    tile::AssertOp::create(session.builder, session.loc(), condition->value, *message);
  return Value();
}

std::optional<Value> call_expect_zero(Call &call) {
  enum { X, Mask };
  Session &session = call.session;
  auto x = call.tensor(X);
  if (x && x->type.pointer)
    return call.wrong(X, "a number or a tile of numbers");
  auto mask = x ? conditionOf(call, Mask) : std::nullopt;
  auto both = mask ? broadcastPair(session, *x, *mask) : std::nullopt;
  if (!both)
    return std::nullopt;
  if (session.options.debug) {
    Tensor zero = literalTile(session, makeInt(0), both->first.type.element, both->first.type.shape);
    Tensor isZero = emitCompare(session, syntax::CompareOperator::Eq, both->first, zero);
    auto isOff = unary(session, syntax::UnaryOperator::Invert, both->second);
    auto holds = isOff ? binary(session, syntax::BinaryOperator::Or, isZero, *isOff) : std::nullopt;
    if (!holds)
      return std::nullopt;
    tile::AssertOp::create(session.builder, session.loc(), holds->tensor()->value,
                           "tl.expect_zero: a value is not 0 where the mask is true");
  }
  return Value(*x);
}

std::optional<Value> call_device_print(Call &call) {
  enum { Prefix, Args, Hex };
  auto prefix = call.text(Prefix);
  if (!prefix)
    return std::nullopt;
  return print(call, *prefix, *elementsOf(call[Args]), Hex);
}

// The prefix is the text in front, if there is one.
std::optional<Value> python_print(Call &call) {
  enum { Values, Hex };
  std::vector<Value> values = *elementsOf(call[Values]);
  std::string prefix;
  auto *first = values.empty() ? nullptr : values[0].constant();
  if (auto *text = first ? std::get_if<std::string>(&first->value) : nullptr) {
    prefix = *text;
    values.erase(values.begin());
  }
  return print(call, prefix, values, Hex);
}

} // namespace tegula::sema::builtins
