// Python's own functions, as far as a kernel can mean them. Calls with constants only are
// folded before they come here, where they can be.
#include "diag/Utf8.h"
#include "sema/Const.h"
#include "sema/builtins/Call.h"

namespace tegula::sema::builtins {
namespace {

std::optional<Value> extremeOf(Call &call, std::string_view builtin, bool wantsMax) {
  auto values = *elementsOf(call[0]);
  if (values.size() == 1) {
    auto elements = elementsOf(values[0]);
    if (!elements)
      return call.wrong(
          0, wantsMax ? "two values at least, or a tuple (`tl.max(x)` is a tile's largest element)"
                      : "two values at least, or a tuple (`tl.min(x)` is a tile's smallest element)");
    values = *elements;
  }
  if (values.empty())
    return call.wrong(0, "a value at least");
  Value best = values[0];
  for (size_t i = 1; i < values.size(); ++i) {
    std::optional<Value> next;
    if (best.constant() && values[i].constant()) {
      auto op = wantsMax ? syntax::CompareOperator::Gt : syntax::CompareOperator::Lt;
      auto isBetter = constCompare(call.session, op, *values[i].constant(), *best.constant());
      auto replaces = isBetter ? truth(call.session, *isBetter) : std::nullopt;
      if (!replaces)
        return std::nullopt;
      next = *replaces ? values[i] : best;
    } else {
      Value pair[] = {best, values[i]};
      next = callBuiltin(call.session, builtin, pair, {});
    }
    if (!next)
      return std::nullopt;
    best = *next;
  }
  return best;
}

std::optional<Value> constantOnly(Call &call, std::string_view hint) {
  if (call[0].tensor())
    return call.fail(diag::Kind::PythonOfRunTime, {spelling(call[0].tensor()->type), std::string(hint)});
  return call.wrong(0, "a number or a string");
}

// Is `value` what the type named by `type` holds? nullopt: no type.
std::optional<bool> isOf(const Value &value, const Value &type) {
  if (auto elements = elementsOf(type)) {
    bool any = false;
    for (const Value &element : *elements) {
      auto one = isOf(value, element);
      if (!one)
        return std::nullopt;
      any |= *one;
    }
    return any;
  }
  auto *constant = type.constant();
  if (auto *named = constant ? std::get_if<TupleClassPtr>(&constant->value) : nullptr) {
    TupleClassPtr own = value.tuple() ? value.tuple()->type : nullptr;
    if (auto *elements = value.constant() ? tupleOf(*value.constant()) : nullptr)
      own = elements->type;
    return own && *own == **named;
  }
  auto *ref = constant ? std::get_if<BuiltinRef>(&constant->value) : nullptr;
  if (!ref)
    return std::nullopt;
  bool isScalar = value.tensor() || (value.isScalar && isNumber(value));
  const Const *held = isScalar ? nullptr : value.constant();
  bool isTuple = elementsOf(value).has_value();
  if (ref->name == "triton.language.tensor")
    return isScalar || (value.record() && value.record()->type.kind == TypeRef::BlockPointer);
  if (ref->name.starts_with("triton.language.tensor_descriptor"))
    return value.record() && value.record()->type.kind == TypeRef::Descriptor;
  if (ref->name == "triton.language.constexpr")
    return held && !isTuple;
  if (ref->name == "triton.language.tuple" || ref->name == "builtins.tuple" || ref->name == "builtins.list")
    return isTuple;
  if (ref->name == "builtins.bool")
    return held && std::holds_alternative<bool>(held->value);
  if (ref->name == "builtins.int")
    return held &&
           (std::holds_alternative<llvm::APInt>(held->value) || std::holds_alternative<bool>(held->value));
  if (ref->name == "builtins.float")
    return held && std::holds_alternative<double>(held->value);
  if (ref->name == "builtins.str")
    return held && std::holds_alternative<std::string>(held->value);
  if (ref->name == "triton.language.dtype" || ref->name == "triton.language.pointer_type" ||
      ref->name == "triton.language.block_type") {
    auto *typeRef = held ? std::get_if<TypeRef>(&held->value) : nullptr;
    if (!typeRef || ref->name == "triton.language.dtype")
      return typeRef != nullptr;
    bool isBlock = !typeRef->shape.empty() && !typeRef->whole;
    bool isPointer = typeRef->pointer || typeRef->whole == TypeRef::BlockPointer;
    return ref->name == "triton.language.block_type" ? isBlock : isPointer && !isBlock;
  }
  return std::nullopt;
}

bool hasAttribute(Session &session, const Value &object, std::string_view name) {
  if (isMethod(object, name))
    return true;
  // Asking must leave no diagnostic behind.
  diag::Sink silent;
  Session asking(session.builder, silent, session.options, session.functions);
  mlir::OpBuilder::InsertionGuard guard(session.builder);
  return name != "T" && attribute(asking, object, name).has_value();
}

} // namespace

std::optional<Value> python_min(Call &call) { return extremeOf(call, "triton.language.minimum", false); }
std::optional<Value> python_max(Call &call) { return extremeOf(call, "triton.language.maximum", true); }

std::optional<Value> python_abs(Call &call) {
  Value one[] = {call[0]};
  return callBuiltin(call.session, "triton.language.abs", one, {});
}

std::optional<Value> python_len(Call &call) {
  if (auto elements = elementsOf(call[0]))
    return Value(makeInt(int64_t(elements->size())));
  if (auto *tensor = call[0].tensor(); tensor && !tensor->type.isScalar())
    return Value(makeInt(tensor->type.shape[0]));
  if (auto *constant = call[0].constant())
    if (auto *text = std::get_if<std::string>(&constant->value))
      return Value(makeInt(int64_t(diag::splitUtf8(*text).size())));
  return call.wrong(0, "a tuple or a tile");
}

std::optional<Value> python_float(Call &call) { return constantOnly(call, "use `x.to(tl.float32)`"); }
std::optional<Value> python_int(Call &call) { return constantOnly(call, "use `x.to(tl.int32)`"); }
std::optional<Value> python_bool(Call &call) { return constantOnly(call, "use `x != 0`"); }
std::optional<Value> python_str(Call &call) {
  return constantOnly(call, "strings exist only while compiling");
}

std::optional<Value> python_tuple(Call &call) {
  auto elements = elementsOf(call[0]);
  return elements ? std::optional(makeValueTuple(std::move(*elements))) : call.wrong(0, "a tuple");
}
std::optional<Value> python_list(Call &call) { return python_tuple(call); }

std::optional<Value> python_isinstance(Call &call) {
  auto result = isOf(call[0], call[1]);
  if (!result)
    return call.wrong(1, "tl.tensor, tl.constexpr, tl.dtype, int, float, bool, str, tuple, a NamedTuple, an "
                         "aggregate, or several "
                         "of these, `A | B` or `(A, B)`");
  return Value(Const{*result});
}

std::optional<Value> python_hasattr(Call &call) {
  auto name = call.text(1);
  return name ? std::optional<Value>(Const{hasAttribute(call.session, call[0], *name)}) : std::nullopt;
}

// getattr(tl, "exp"): what the module of the language has under this name.
std::optional<Const> memberOfModule(const Value &object, const std::string &name) {
  auto *module = object.constant() ? std::get_if<ModuleRef>(&object.constant()->value) : nullptr;
  return module ? findBuiltin(module->name + "." + name) : std::nullopt;
}

std::optional<Value> python_getattr(Call &call) {
  auto name = call.text(1);
  if (!name)
    return std::nullopt;
  if (auto member = memberOfModule(call[0], *name))
    return Value(std::move(*member));
  bool hasDefault = !elementsOf(call[2])->empty();
  if (hasDefault && !hasAttribute(call.session, call[0], *name))
    return (*elementsOf(call[2]))[0];
  return attribute(call.session, call[0], *name);
}

std::optional<Value> python_range(Call &call) { return call.fail(diag::Kind::OnlyInLoop, {"for"}); }

} // namespace tegula::sema::builtins

bool tegula::sema::namesClass(const Value &value) { return builtins::isOf(Value(), value).has_value(); }
