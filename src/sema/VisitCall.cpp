// Calls: of builtins through the session's door, of functions of the language by walking
// their body in place, with constants passed on as constants.
#include "sema/Decorators.h"
#include "sema/Hints.h"
#include "sema/LibraryKinds.h"
#include "sema/Visitor.h"

#include "llvm/ADT/STLExtras.h"

#include <array>

namespace tegula::sema {

using diag::Kind;
using syntax::as;

std::optional<Value> Visitor::visitCall(const syntax::Call &node) {
  std::vector<Value> arguments;
  std::vector<NamedValue> keywords;
  size_t reported = session.sink.all().size();
  bool isAlone = standsAlone == &node;
  MaybeValue result;
  auto *method = as<syntax::Attribute>(node.callee);
  auto object = method ? visit(method->object) : MaybeValue();
  if (method && !object)
    return std::nullopt;
  if (method && isMethod(*object, method->attribute)) {
    if (visitArguments(node, arguments, keywords))
      result = callMethod(session, *object, method->attribute, arguments, keywords);
  } else if (auto elements = method ? elementsOf(*object) : std::nullopt; elements && elements->type) {
    // A method of the user's: the object is its first argument. A field may hold a function.
    auto callee = attributeOf(*object, method->attribute);
    if (callee && elements->type->find(method->attribute) == elements->size())
      arguments.push_back(*object);
    if (callee && visitArguments(node, arguments, keywords))
      result = callValue(*callee, arguments, keywords);
  } else {
    auto callee = method ? attributeOf(*object, method->attribute) : visit(node.callee);
    if (callee && isAlone && !mayBeUnused(*callee))
      return std::nullopt;
    if (callee && visitArguments(node, arguments, keywords))
      result = callValue(*callee, arguments, keywords);
  }
  if (!result && session.sink.all().size() > reported)
    explainLostConstants(node, reported);
  return result;
}

// False after a report: upstream's must_use_result, as a decorator of a function. Moving a block pointer has
// no effect.
bool Visitor::mayBeUnused(const Value &callee) {
  auto *constant = callee.constant();
  auto *builtin = constant ? get<BuiltinRef>(*constant) : nullptr;
  if (builtin && builtin->name == "triton.language.advance")
    return session.fail(Kind::ResultUnused,
                        {"tl.advance", " A block pointer is a value: assign the moved one."}),
           false;
  auto *function = constant ? get<std::shared_ptr<const Function>>(*constant) : nullptr;
  if (!function)
    return true;
  const syntax::FunctionDef &definition = *(*function)->definition;
  const syntax::Expr *mark = decorator(definition, "must_use_result");
  if (!mark)
    return true;
  auto *call = as<syntax::Call>(mark);
  auto *reason = call && !call->arguments.empty() ? as<syntax::StringLiteral>(call->arguments[0]) : nullptr;
  return session.fail(Kind::ResultUnused, {definition.name, reason ? " " + reason->value : ""}), false;
}

// A constexpr was wanted and a name was given that held one until it was assigned: say how
// to keep it.
void Visitor::explainLostConstants(const syntax::Call &node, size_t reported) {
  if (session.sink.all()[reported].kind != Kind::ArgumentNotConstexpr)
    return;
  auto explain = [&](const syntax::Expr *argument) {
    auto *name = as<syntax::Name>(argument);
    auto found = name ? frame->locals.find(name->id) : frame->locals.end();
    if (found == frame->locals.end() || !found->second.number)
      return false;
    std::string value = repr(*found->second.number);
    session.sink.last()->hint = "`" + name->id + "` became a run-time value when it was assigned on line " +
                                std::to_string(found->second.line) + "; write `" + name->id +
                                ": tl.constexpr = " + value + "` there";
    return true;
  };
  for (const syntax::Expr *argument : node.arguments)
    if (explain(argument))
      return;
  for (const syntax::Keyword &keyword : node.keywords)
    if (explain(keyword.value))
      return;
}

bool Visitor::visitArguments(const syntax::Call &node, std::vector<Value> &arguments,
                             std::vector<NamedValue> &keywords) {
  for (const syntax::Expr *argument : node.arguments) {
    auto *starred = as<syntax::Starred>(argument);
    auto value = visit(starred ? starred->value : argument);
    if (!value)
      return false;
    if (!starred) {
      arguments.push_back(std::move(*value));
      continue;
    }
    auto elements = elementsOf(*value);
    if (!elements)
      return session.fail(Kind::NotATuple, {describeType(*value)}), false;
    arguments.insert(arguments.end(), elements->begin(), elements->end());
  }
  for (const syntax::Keyword &keyword : node.keywords) {
    if (keyword.name.empty())
      return unsupported("`**` in a call", "name each keyword argument"), false;
    auto value = visit(keyword.value);
    if (!value)
      return false;
    keywords.push_back({keyword.name, std::move(*value)});
  }
  return true;
}

std::optional<Value> Visitor::callValue(const Value &callee, std::span<const Value> arguments,
                                        std::span<const NamedValue> keywords) {
  auto *constant = callee.constant();
  if (!constant)
    return session.fail(Kind::NotCallable, {describeType(callee)});
  if (auto *builtin = get<BuiltinRef>(*constant))
    return callBuiltinByName(builtin->name, arguments, keywords);
  if (auto *function = get<std::shared_ptr<const Function>>(*constant)) {
    std::shared_ptr<const Function> alive = *function;
    return callFunction(*alive, arguments, keywords);
  }
  if (auto *type = get<TupleClassPtr>(*constant)) {
    auto constructor = (*type)->isAggregate
                           ? host.attribute(frame->function.env, Const{(*type)->self}, "__init__")
                           : std::nullopt;
    auto *function = constructor ? get<std::shared_ptr<const Function>>(constructor->value) : nullptr;
    return function ? construct(TupleClassPtr(*type), std::shared_ptr(*function), arguments, keywords)
                    : makeNamed(TupleClassPtr(*type), arguments, keywords);
  }
  if (get<OpaqueRef>(*constant))
    return callHost(*constant, arguments, keywords);
  auto *type = get<TypeRef>(*constant);
  if (type && type->shape.empty() && type->whole == TypeRef::No && arguments.size() == 1 && keywords.empty())
    return callBuiltinByName("triton.language.cast", std::array{arguments[0], callee}, {});
  return session.fail(Kind::NotCallable, {describeType(callee)});
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
  ValueTuple fields = *elementsOf(made);
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

// Fields of an aggregate that are annotated tl.constexpr hold constants, and all others run-time values, so
// that loops can carry them.
std::optional<Value> Visitor::settleFields(ValueTuple fields) {
  auto constant = host.attribute(frame->function.env, Const{fields.type->self}, "_constexpr_fields");
  auto *names = constant ? tupleOf(constant->value) : nullptr;
  for (size_t i = 0; i < fields.size(); ++i) {
    Const field{fields.type->fields[i]};
    bool isConstexpr = names && llvm::any_of(*names, [&](const Const &name) { return isEqual(name, field); });
    if (isConstexpr && !fields[i].constant())
      return session.fail(Kind::ConstexprNeeded,
                          {"`" + fields.type->fields[i] + "`", describeType(fields[i])});
    if (isConstexpr || !fields[i].constant() || !isNumber(*fields[i].constant()))
      continue;
    auto tensor = toTensor(session, fields[i]);
    if (!tensor)
      return std::nullopt;
    fields[i] = *tensor;
  }
  return tupleWithinLimits(std::move(fields));
}

// Bits of a handle, as tegula.h has them: a function that takes run-time values; such a value, by its number
// among the arguments.
constexpr uint64_t takesValues = uint64_t(1) << 61, isRunTime = uint64_t(1) << 62;

// A Python function met a run-time value. The language may have one of the same name: `torch.exp`, `np.exp`.
void Visitor::refuseRunTime(const OpaqueRef &callee, const Value &argument) {
  session.fail(Kind::ConstexprNeeded, {callee.repr, describeType(argument)});
  llvm::StringRef name = llvm::StringRef(callee.repr).rsplit('`').first.rsplit('`').second;
  bool isOfLanguage = !name.empty() && findBuiltin(("triton.language." + name).str());
  setHint(session, Kind::ConstexprNeeded,
          isOfLanguage ? "Python functions take constants only; of a run-time value it is tl." + name.str()
                       : "Python functions take constants only; run-time values go to tl.* and to functions "
                         "marked @triton.jit");
}

// A constexpr_function, or one that takes run-time values and returns one of them or a constant: the host
// runs it, now.
std::optional<Value> Visitor::callHost(const Const &callee, std::span<const Value> arguments,
                                       std::span<const NamedValue> keywords) {
  if (!get<OpaqueRef>(callee)->handle) {
    session.fail(Kind::NotCallable, {get<OpaqueRef>(callee)->repr});
    setHint(session, Kind::NotCallable,
            "mark it with @triton.jit, or with @triton.constexpr_function for constants");
    return std::nullopt;
  }
  ConstTuple constants;
  std::vector<Value> given;
  std::vector<std::string> keywordNames;
  auto add = [&](const Value &argument) {
    given.push_back(argument);
    if (argument.constant())
      constants.push_back(*argument.constant());
    else if (get<OpaqueRef>(callee)->handle & takesValues)
      constants.push_back({OpaqueRef{isRunTime | (given.size() - 1), describeType(argument)}});
    else
      refuseRunTime(*get<OpaqueRef>(callee), argument);
    return constants.size() == given.size();
  };
  for (const Value &argument : arguments)
    if (!add(argument))
      return std::nullopt;
  for (const NamedValue &keyword : keywords) {
    if (!add(keyword.value))
      return std::nullopt;
    keywordNames.push_back(keyword.name);
  }
  HostReply reply = host.call(frame->function.env, callee, constants, keywordNames);
  if (reply.answer) {
    auto *opaque = get<OpaqueRef>(reply.answer->value);
    uint64_t number = opaque && opaque->handle & isRunTime ? opaque->handle & ~isRunTime : given.size();
    if (number < given.size())
      return given[number];
    return Value(std::move(reply.answer->value));
  }
  if (!reply.raised.empty())
    return session.fail(Kind::HostFunctionRaised, {get<OpaqueRef>(callee)->repr, reply.raised});
  return session.fail(Kind::NotCallable, {describeType(Value(callee))});
}

std::optional<Value> Visitor::callBuiltinByName(const std::string &name, std::span<const Value> arguments,
                                                std::span<const NamedValue> keywords) {
  // A wrapper around the condition of a `while`; its hints are for other targets.
  if (name == "triton.language.condition" && !arguments.empty())
    return arguments.front();
  if (name == "triton.language.aggregate_replace" && arguments.size() == 1)
    return replaceFields(arguments.front(), keywords);
  if ((name == "builtins.getattr" || name == "builtins.hasattr") && arguments.size() >= 2)
    if (auto known = attributeByName(name == "builtins.hasattr", arguments))
      return *known;
  bool isMath = llvm::StringRef(name).starts_with("math.");
  bool areConstant = llvm::all_of(arguments, [](const Value &value) { return value.constant() != nullptr; });
  if (areConstant && keywords.empty()) {
    ConstTuple constants;
    for (const Value &argument : arguments)
      constants.push_back(*argument.constant());
    ConstError error;
    if (auto folded = foldCall(Const{BuiltinRef{name}}, constants, error))
      return Value(std::move(*folded));
    if (isMath)
      return failConst(error);
  }
  if (isMath)
    return unsupported("`" + name + "` of a run-time value", "use tl." + name.substr(5));
  return callBuiltin(session, name, arguments, keywords);
}

// getattr and hasattr of what the host or a class answers for; nullopt: of something else.
std::optional<std::optional<Value>> Visitor::attributeByName(bool isQuestion,
                                                             std::span<const Value> arguments) {
  const Value &object = arguments[0];
  auto *constant = object.constant();
  auto *name = arguments[1].constant() ? get<std::string>(*arguments[1].constant()) : nullptr;
  auto elements = elementsOf(object);
  bool isNamed = elements && elements->type;
  bool isOfHost =
      constant && (get<ModuleRef>(*constant) || get<OpaqueRef>(*constant) || get<TupleClassPtr>(*constant));
  if (!name || !(isNamed || isOfHost))
    return std::nullopt;
  bool isKnown = isNamed && elements->type->find(*name) < elements->size();
  if (auto *module = isOfHost ? get<ModuleRef>(*constant) : nullptr)
    isKnown = moduleAttribute(*module, *name).has_value();
  if (!isKnown) {
    Const asked = isNamed ? Const{elements->type->self} : *constant;
    if (auto *type = get<TupleClassPtr>(asked))
      asked = Const{OpaqueRef((*type)->self)};
    auto answer = host.attribute(frame->function.env, asked, *name);
    auto *opaque = answer ? get<OpaqueRef>(answer->value) : nullptr;
    isKnown = answer && (!opaque || opaque->handle);
  }
  if (isQuestion)
    return MaybeValue(Value(Const{isKnown}));
  return !isKnown && arguments.size() > 2 ? MaybeValue(arguments[2]) : attributeOf(object, *name);
}

std::optional<Value> Visitor::replaceFields(const Value &object, std::span<const NamedValue> changes) {
  auto fields = elementsOf(object);
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

// ---- functions of the language ----------------------------------------------------------

std::optional<Const> Visitor::defaultValue(const Function &function, const syntax::Parameter &parameter) {
  // A host that has evaluated the definition knows the value.
  if (auto answer = host.defaultOf(function.env, parameter.name)) {
    auto *opaque = get<OpaqueRef>(answer->value);
    if (!opaque || opaque->handle)
      return answer->value;
  }
  ConstFailure failure;
  auto resolve = [&](const syntax::Name &name) -> std::optional<Const> {
    if (auto answer = host.lookup(function.env, name.id)) {
      auto *opaque = get<OpaqueRef>(answer->value);
      return opaque && !opaque->handle ? std::nullopt : std::optional(answer->value);
    }
    return findBuiltin("builtins." + name.id);
  };
  auto value = evaluateExpression(parameter.defaultValue, resolve, failure);
  if (!value)
    failure.error.report(session.sink, function.tree->at(failure.where));
  return value;
}

bool Visitor::bindParameter(const Function &callee, const syntax::Parameter &parameter, Value value,
                            llvm::StringMap<Local> &locals) {
  // A helper of the user's takes a run-time value there as well, as upstream does: people annotate offsets
  // so.
  bool isOurs = isOfLibrary(callee);
  bool isConstexpr =
      parameter.annotation && (namesConstexpr(parameter.annotation) || isConstantKind(parameter.annotation));
  if (!checkKind(session, callee, parameter, value))
    return false;
  if (isConstexpr && isOurs && !value.constant())
    return session.fail(Kind::ConstexprParameter,
                        {callee.definition->name, parameter.name, describeType(value)}),
           false;
  Local local;
  local.value = std::move(value);
  local.line = callee.tree->source->position(parameter.range.begin).line;
  locals[parameter.name] = std::move(local);
  return true;
}

bool Visitor::bindParameters(const Function &callee, std::span<const Value> arguments,
                             std::span<const NamedValue> keywords, llvm::StringMap<Local> &locals) {
  using syntax::Parameter;
  const std::string &name = callee.definition->name;
  size_t position = 0;
  std::vector<bool> isUsed(keywords.size());
  for (const Parameter &parameter : callee.definition->parameters) {
    if (parameter.kind == Parameter::KwArgs)
      return unsupported("`**kwargs` in the parameters of `" + name + "`",
                         "name each parameter, or take `*args`"),
             false;
    if (parameter.kind == Parameter::VarArgs) {
      size_t taken = std::min(position, arguments.size());
      ValueTuple rest(arguments.begin() + static_cast<ptrdiff_t>(taken), arguments.end());
      position = arguments.size();
      if (!bindParameter(callee, parameter, makeTupleValue(std::move(rest)), locals))
        return false;
      continue;
    }
    MaybeValue value;
    if (parameter.kind != Parameter::KeywordOnly && position < arguments.size())
      value = arguments[position++];
    for (size_t i = 0; i < keywords.size(); ++i) {
      if (keywords[i].name != parameter.name || parameter.kind == Parameter::PositionalOnly)
        continue;
      if (value || isUsed[i])
        return session.fail(Kind::RepeatedArgument, {name, parameter.name}), false;
      isUsed[i] = true;
      value = keywords[i].value;
    }
    if (!value && parameter.defaultValue) {
      auto constant = defaultValue(callee, parameter);
      if (!constant)
        return false;
      value = Value(std::move(*constant));
    }
    if (!value)
      return session.fail(Kind::MissingArgument, {name, parameter.name}), false;
    if (!bindParameter(callee, parameter, std::move(*value), locals))
      return false;
  }
  if (position < arguments.size())
    return session.fail(Kind::CallTooManyArguments,
                        {name, std::to_string(position), std::to_string(arguments.size())}),
           false;
  for (size_t i = 0; i < keywords.size(); ++i)
    if (!isUsed[i])
      return session.fail(Kind::UnknownKeyword, {name, keywords[i].name}), false;
  return true;
}

std::optional<Value> Visitor::callFunction(const Function &callee, std::span<const Value> arguments,
                                           std::span<const NamedValue> keywords) {
  if (callDepth >= maxCallDepth) {
    isExhausted = true;
    return session.fail(Kind::RecursionTooDeep, {callee.definition->name, std::to_string(maxCallDepth)});
  }
  if (!spend())
    return std::nullopt;
  if (callee.noinline_ && !llvm::is_contained(inlinedAllTheSame, callee.definition)) {
    inlinedAllTheSame.push_back(callee.definition);
    session.warn(Kind::AlwaysInlined, {callee.definition->name});
  }
  llvm::StringMap<Local> locals;
  if (!bindParameters(callee, arguments, keywords, locals))
    return std::nullopt;
  return enter(callee, std::move(locals));
}

// Walks the body of `callee` here. Its ops carry the call as a call site; its reports name
// the call in their notes.
// `made` is where a constructor leaves its object.
std::optional<Value> Visitor::enter(const Function &callee, llvm::StringMap<Local> locals, Value *made) {
  diag::Location place = session.place;
  auto caller = session.caller;
  session.caller = session.loc();
  session.frames.insert(session.frames.begin(), {place, "called from here"});
  session.place.source = callee.tree->source;
  Frame inner{callee, frame, std::move(locals), {}, 0, 0, false};
  inner.isConstructor = made != nullptr;
  frame = &inner;
  ++callDepth;
  Flow flow = runToEnd(callee.definition->body);
  if (made && flow == Flow::Exits)
    *made = inner.locals[callee.definition->parameters.front().name].value;
  --callDepth;
  frame = inner.caller;
  session.frames.erase(session.frames.begin());
  session.caller = caller;
  session.place = place;
  return flow == Flow::Exits ? std::move(inner.returned) : std::nullopt;
}

bool Visitor::visitKernel(const Function &kernel, llvm::StringMap<Local> parameters) {
  size_t errors = session.sink.errorCount();
  session.place = kernel.tree->at(kernel.definition);
  Frame outermost{kernel, nullptr, std::move(parameters), {}, 0, 0, false};
  frame = &outermost;
  Flow flow = runToEnd(kernel.definition->body);
  frame = nullptr;
  return flow == Flow::Exits && session.sink.errorCount() == errors;
}

} // namespace tegula::sema
