// Objects of the user's classes: NamedTuples, which are tuples, and aggregates, which are none. How they come
// to be (fields, defaults, constructors), and what operators, brackets and Python's functions mean of an
// aggregate: methods of its class, in upstream's order. What its class does not define is refused.
#include "sema/Hints.h"
#include "sema/Visitor.h"
#include "sema/builtins/Emit.h"

#include "llvm/ADT/STLExtras.h"

#include <array>

namespace tegula::sema {

using diag::Kind;
using syntax::as;

// ---- making -------------------------------------------------------------------------------

std::optional<Value> Visitor::make(TupleClassPtr type, std::span<const Value> arguments,
                                   std::span<const NamedValue> keywords) {
  auto constructor =
      type->isAggregate ? host.attribute(frame->function.env, Const{type->self}, "__init__") : std::nullopt;
  auto *function = constructor ? get<std::shared_ptr<const Function>>(constructor->value) : nullptr;
  return function ? construct(std::move(type), std::shared_ptr(*function), arguments, keywords)
                  : makeNamed(std::move(type), arguments, keywords);
}

// The defaults of fields that have no value: pairs of a name and a constant, which the host tells.
void Visitor::fillDefaults(const TupleClass &type, std::vector<MaybeValue> &fields) {
  auto defaults = host.attribute(frame->function.env, Const{type.self}, "_field_defaults");
  auto *pairs = defaults ? tupleOf(defaults->value) : nullptr;
  for (size_t i = 0; pairs && i < fields.size(); ++i)
    for (const Const &pair : *pairs) {
      auto *parts = tupleOf(pair);
      if (!fields[i] && parts && parts->size() == 2 && isEqual(parts->front(), Const{type.fields[i]}))
        fields[i] = Value(parts->back());
    }
}

// An object of a class of tuples with names, from its fields in order or by name.
std::optional<Value> Visitor::makeNamed(TupleClassPtr type, std::span<const Value> arguments,
                                        std::span<const NamedValue> keywords) {
  size_t count = type->fields.size();
  if (arguments.size() > count)
    return session.fail(Kind::CallTooManyArguments,
                        {type->name, std::to_string(count), std::to_string(arguments.size())});
  std::vector<MaybeValue> fields(arguments.begin(), arguments.end());
  fields.resize(count);
  for (const NamedValue &keyword : keywords) {
    size_t index = type->find(keyword.name);
    if (index == count)
      return session.fail(Kind::UnknownKeyword, {type->name, keyword.name});
    if (fields[index])
      return session.fail(Kind::RepeatedArgument, {type->name, keyword.name});
    fields[index] = keyword.value;
  }
  if (!llvm::all_of(fields, [](const MaybeValue &field) { return field.has_value(); }))
    fillDefaults(*type, fields);
  ValueTuple result;
  result.type = type;
  for (size_t i = 0; i < count; ++i) {
    if (!fields[i])
      return session.fail(Kind::MissingArgument, {type->name, type->fields[i]});
    result.push_back(std::move(*fields[i]));
  }
  return type->isAggregate ? settleFields(std::move(result)) : tupleWithinLimits(std::move(result));
}

// An aggregate by the user's constructor, which is walked with fields that have no value yet.
std::optional<Value> Visitor::construct(TupleClassPtr type, std::shared_ptr<const Function> constructor,
                                        std::span<const Value> arguments,
                                        std::span<const NamedValue> keywords) {
  const auto &parameters = constructor->definition->parameters;
  auto blank = std::make_shared<ValueTuple>(
      std::vector<Value>(type->fields.size(), Value(Const{OpaqueRef{0, "a field without a value"}})));
  blank->type = type;
  std::vector<Value> all{Value(blank)};
  all.insert(all.end(), arguments.begin(), arguments.end());
  llvm::StringMap<Local> locals;
  if (parameters.empty() || !bindParameters(*constructor, all, keywords, locals))
    return parameters.empty() ? unsupported("a constructor without `self`", "name it first") : std::nullopt;
  Value made;
  if (!enter(*constructor, std::move(locals), &made))
    return std::nullopt;
  ValueTuple fields = *partsOf(made);
  for (size_t i = 0; i < fields.size(); ++i)
    if (auto *field = fields[i].constant();
        field && get<OpaqueRef>(*field) && !get<OpaqueRef>(*field)->handle) {
      session.fail(Kind::UndefinedName, {type->name + "." + type->fields[i]});
      session.sink.last()->hint =
          "its constructor must give it a value: `self." + type->fields[i] + " = ...`";
      return std::nullopt;
    }
  return settleFields(std::move(fields));
}

// Does the host name this field in one of its lists of fields?
bool Visitor::isNamedBy(const TupleClass &type, std::string_view list, size_t field) {
  auto answer = host.attribute(frame->function.env, Const{type.self}, list);
  auto *names = answer ? tupleOf(answer->value) : nullptr;
  Const asked{type.fields[field]};
  return names && llvm::any_of(*names, [&](const Const &name) { return isEqual(name, asked); });
}

// Fields of an aggregate that are annotated tl.constexpr hold constants, those annotated `tl.tensor |
// tl.constexpr` what they are given, and all others run-time values, so that loops can carry them.
std::optional<Value> Visitor::settleFields(ValueTuple fields) {
  const TupleClass &type = *fields.type;
  for (size_t i = 0; i < fields.size(); ++i) {
    bool isConstexpr = isNamedBy(type, "_constexpr_fields", i);
    if (isConstexpr && !fields[i].constant())
      return session.fail(Kind::ConstexprNeeded, {"`" + type.fields[i] + "`", describeType(fields[i])});
    bool isNumeric = fields[i].constant() && isNumber(*fields[i].constant());
    if (isConstexpr || !isNumeric || isNamedBy(type, "_open_fields", i))
      continue;
    auto tensor = toTensor(session, fields[i]);
    if (!tensor)
      return std::nullopt;
    fields[i] = *tensor;
  }
  return tupleWithinLimits(std::move(fields));
}

std::optional<Value> Visitor::replaceFields(const Value &object, std::span<const NamedValue> changes) {
  auto fields = partsOf(object);
  if (!fields || !fields->type || !fields->type->isAggregate)
    return session.fail(Kind::BuiltinWrongArgument,
                        {"tl.aggregate_replace", "obj", "an aggregate", describeType(object)});
  for (const NamedValue &change : changes) {
    size_t index = fields->type->find(change.name);
    if (index == fields->size())
      return session.fail(Kind::NoSuchAttribute, {describeType(object), change.name});
    (*fields)[index] = change.value;
  }
  return settleFields(std::move(*fields));
}

// The class, and the types of the fields by name; of a constant that is the constant. It is compared and
// printed.
Const Visitor::typeOfAggregate(const Value &object) {
  static const TupleClassPtr form = std::make_shared<TupleClass>(
      TupleClass{"_aggregate_type", {"base_cls", "fields"}, OpaqueRef{0, "the type of an aggregate"}});
  ValueTuple parts = *partsOf(object);
  ConstTuple fields;
  for (size_t i = 0; i < parts.size(); ++i) {
    Const type = parts[i].constant() ? *parts[i].constant() : Const{describeType(parts[i])};
    if (auto *tensor = parts[i].tensor())
      type = builtins::makeType(tensor->type);
    else if (isAggregate(parts[i]))
      type = typeOfAggregate(parts[i]);
    fields.push_back(makeTuple(ConstTuple{{Const{parts.type->fields[i]}, std::move(type)}}));
  }
  ConstTuple result{{Const{parts.type}, makeTuple(std::move(fields))}};
  result.type = form;
  return makeTuple(std::move(result));
}

// ---- methods ------------------------------------------------------------------------------

// The member of a class, its fields aside; nullopt: it has none that a kernel can use.
std::optional<Value> Visitor::memberOf(const TupleClass &type, const std::string &name) {
  auto answer = type.self.handle ? host.attribute(frame->function.env, Const{type.self}, name) : std::nullopt;
  auto *opaque = answer ? get<OpaqueRef>(answer->value) : nullptr;
  return answer && (!opaque || opaque->handle) ? MaybeValue(std::move(answer->value)) : std::nullopt;
}

// A method of an aggregate; nullopt: its class has none of this name.
std::optional<std::optional<Value>> Visitor::callMember(const Value &object, const std::string &name,
                                                        std::span<const Value> arguments,
                                                        std::span<const NamedValue> keywords) {
  auto method = memberOf(*classOf(object), name);
  if (!method)
    return std::nullopt;
  std::vector<Value> all{object};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return callValue(*method, all, keywords);
}

std::nullopt_t Visitor::refuseAggregate(std::string_view what, const Value &object, std::string_view method) {
  session.fail(Kind::ConstOperand, {what, describeType(object)});
  setHint(session, Kind::ConstOperand,
          "it is an aggregate, and no tuple: give `" + classOf(object)->name + "` a method `" +
              std::string(method) + "` with @triton.jit, or name a field");
  return std::nullopt;
}

static bool isNotImplemented(const Value &value) {
  auto *builtin = value.constant() ? get<BuiltinRef>(*value.constant()) : nullptr;
  return builtin && builtin->name == "builtins.NotImplemented";
}

// The method of the left side, then that of the right one, each where it is an aggregate: those go before
// tiles and numbers. A method passes by NotImplemented. nullopt: nobody answers.
std::optional<std::optional<Value>> Visitor::callEither(const Value &left, const Value &right,
                                                        const std::string &method,
                                                        const std::string &reflected) {
  for (bool isLeft : {true, false}) {
    const Value &owner = isLeft ? left : right, &other = isLeft ? right : left;
    if (!isAggregate(owner))
      continue;
    auto result = callMember(owner, isLeft ? method : reflected, {&other, 1});
    if (result && !(*result && isNotImplemented(**result)))
      return result;
  }
  return std::nullopt;
}

static std::nullopt_t refuseOperands(Session &session, std::string_view op, const Value &left,
                                     const Value &right, const std::string &method) {
  session.fail(Kind::ConstOperands, {op, describeType(left), describeType(right)});
  const TupleClass &type = *classOf(isAggregate(left) ? left : right);
  setHint(session, Kind::ConstOperands,
          "an aggregate is no tuple, and has the operators of its class: give `" + type.name +
              "` a method `" + method + "` with @triton.jit, or name the fields");
  return std::nullopt;
}

// ---- operators ----------------------------------------------------------------------------

static std::string_view nameOf(syntax::BinaryOperator op) {
  using Op = syntax::BinaryOperator;
  switch (op) {
  case Op::Add: return "add";
  case Op::Sub: return "sub";
  case Op::Mul: return "mul";
  case Op::Div: return "truediv";
  case Op::FloorDiv: return "floordiv";
  case Op::Mod: return "mod";
  case Op::Pow: return "pow";
  case Op::MatMul: return "matmul";
  case Op::LShift: return "lshift";
  case Op::RShift: return "rshift";
  case Op::And: return "and";
  case Op::Or: return "or";
  case Op::Xor: return "xor";
  }
  return "";
}

// `x.__add__(y)` of what is no aggregate; nullopt: no operator has this name.
std::optional<std::optional<Value>> Visitor::operatorByName(const Value &object, std::string_view name,
                                                            std::span<const Value> arguments) {
  if (name.size() < 5 || !name.starts_with("__") || !name.ends_with("__"))
    return std::nullopt;
  std::string_view bare = name.substr(2, name.size() - 4);
  using syntax::BinaryOperator, syntax::CompareOperator, syntax::UnaryOperator;
  if (arguments.size() == 1) {
    for (int i = 0; i <= int(BinaryOperator::Xor); ++i)
      if (std::string_view own = nameOf(BinaryOperator(i)); bare == own)
        return binaryOf(BinaryOperator(i), object, arguments[0]);
      else if (bare.starts_with("r") && bare.substr(1) == own)
        return binaryOf(BinaryOperator(i), arguments[0], object);
    static constexpr std::pair<std::string_view, CompareOperator> comparisons[] = {
        {"eq", CompareOperator::Eq}, {"ne", CompareOperator::Ne}, {"lt", CompareOperator::Lt},
        {"le", CompareOperator::Le}, {"gt", CompareOperator::Gt}, {"ge", CompareOperator::Ge}};
    for (auto [own, op] : comparisons)
      if (bare == own)
        return compareOf(op, object, arguments[0]);
  }
  static constexpr std::pair<std::string_view, UnaryOperator> unaries[] = {
      {"neg", UnaryOperator::Negate}, {"pos", UnaryOperator::Plus}, {"invert", UnaryOperator::Invert}};
  for (auto [own, op] : unaries)
    if (bare == own && arguments.empty())
      return unaryOf(op, object);
  return std::nullopt;
}

std::optional<Value> Visitor::binaryOfAggregates(syntax::BinaryOperator op, const Value &left,
                                                 const Value &right) {
  std::string name(nameOf(op)), method = "__" + name + "__", reflected = "__r" + name + "__";
  if (auto result = callEither(left, right, method, reflected))
    return *result;
  return refuseOperands(session, spelling(op), left, right, isAggregate(left) ? method : reflected);
}

std::optional<Value> Visitor::negated(const Value &truth) {
  if (truth.constant())
    return Value(Const{!isTrue(*truth.constant())});
  return unary(session, syntax::UnaryOperator::Not, truth);
}

std::optional<Value> Visitor::compareAggregates(syntax::CompareOperator op, const Value &left,
                                                const Value &right) {
  using Op = syntax::CompareOperator;
  struct Names {
    const char *method, *reflected;
  };
  auto names = [&]() -> Names {
    switch (op) {
    case Op::Eq: return {"__eq__", "__eq__"};
    case Op::Ne: return {"__ne__", "__ne__"};
    case Op::Lt: return {"__lt__", "__gt__"};
    case Op::Le: return {"__le__", "__ge__"};
    case Op::Gt: return {"__gt__", "__lt__"};
    default: return {"__ge__", "__le__"};
    }
  }();
  if (op == Op::In || op == Op::NotIn) {
    auto holds = isAggregate(right) ? callMember(right, "__contains__", {&left, 1}) : std::nullopt;
    if (!holds)
      return isAggregate(right) ? refuseOperands(session, spelling(op), right, left, "__contains__")
                                : unsupported("`" + std::string(spelling(op)) + "` with an aggregate",
                                              "compare with each element");
    return *holds && op == Op::NotIn ? negated(**holds) : *holds;
  }
  if (auto result = callEither(left, right, names.method, names.reflected))
    return *result;
  // As Python has it, what is not equal is unequal; nothing but None is None.
  if (op == Op::Ne)
    if (auto equal = callEither(left, right, "__eq__", "__eq__"))
      return *equal ? negated(**equal) : *equal;
  if ((op == Op::Eq || op == Op::Ne) && (left.isNone() || right.isNone()))
    return Value(Const{op == Op::Ne});
  return refuseOperands(session, spelling(op), left, right,
                        op == Op::Ne        ? "__eq__"
                        : isAggregate(left) ? names.method
                                            : names.reflected);
}

std::optional<Value> Visitor::unaryOfAggregate(syntax::UnaryOperator op, const Value &operand) {
  using Op = syntax::UnaryOperator;
  std::string method = op == Op::Not      ? "__not__"
                       : op == Op::Negate ? "__neg__"
                       : op == Op::Plus   ? "__pos__"
                                          : "__invert__";
  auto result = callMember(operand, method, {});
  if (result && !(*result && isNotImplemented(**result)))
    return *result;
  if (op != Op::Not)
    return refuseAggregate(spelling(op), operand, method);
  auto truth = truthOfAggregate(operand);
  return truth ? negated(*truth) : truth;
}

// As Python has it: by `__bool__`, else by `__len__`, else true. A constant, or a run-time value.
std::optional<Value> Visitor::truthOfAggregate(const Value &object) {
  for (const char *method : {"__bool__", "__len__"})
    if (auto result = callMember(object, method, {})) {
      bool isTruth = *result && ((*result)->tensor() || ((*result)->constant() && !isAggregate(**result)));
      if (*result && !isTruth)
        return session.fail(Kind::ConstOperand, {"bool", describeType(**result)});
      return *result;
    }
  return Value(Const{true});
}

// Python's functions that ask an object for a method; nullopt: it is none of those.
std::optional<std::optional<Value>> Visitor::pythonOfAggregate(const std::string &function,
                                                               const Value &object) {
  static constexpr std::string_view asking[] = {"len", "abs", "int", "float"};
  llvm::StringRef name = function;
  if (function == "builtins.bool")
    return truthOfAggregate(object);
  if (!name.consume_front("builtins.") || !llvm::is_contained(asking, std::string_view(name)))
    return std::nullopt;
  std::string method = "__" + name.str() + "__";
  if (auto result = callMember(object, method, {}))
    return result;
  return MaybeValue(refuseAggregate(name, object, method));
}

// One index, or a tuple of them.
std::optional<Value> Visitor::subscriptAggregate(const Value &object, const syntax::Expr *index) {
  auto *tuple = as<syntax::Tuple>(index);
  bool isSlice = as<syntax::Slice>(index) ||
                 (tuple && llvm::any_of(tuple->elements,
                                        [](const syntax::Expr *each) { return as<syntax::Slice>(each); }));
  if (isSlice)
    return unsupported("a slice of an aggregate", "give its class a method that takes the bounds");
  auto key = visit(index);
  if (!key)
    return key;
  if (auto result = callMember(object, "__getitem__", {&*key, 1}))
    return *result;
  return refuseAggregate("[]", object, "__getitem__");
}

} // namespace tegula::sema
