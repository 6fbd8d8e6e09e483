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
  bool isOperator = method && method->attribute.starts_with("__") && !isAggregate(*object);
  if (isOperator && visitArguments(node, arguments, keywords) && keywords.empty())
    if (auto applied = operatorByName(*object, method->attribute, arguments))
      return *applied;
  arguments.clear();
  if (method && isMethod(*object, method->attribute)) {
    if (visitArguments(node, arguments, keywords))
      result = callMethod(session, *object, method->attribute, arguments, keywords);
  } else if (auto elements = method ? partsOf(*object) : std::nullopt; elements && elements->type) {
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
  if (isAggregate(callee))
    if (auto result = callMember(callee, "__call__", arguments, keywords))
      return *result;
  auto *constant = callee.constant();
  if (!constant)
    return session.fail(Kind::NotCallable, {describeType(callee)});
  if (auto *builtin = get<BuiltinRef>(*constant))
    return callBuiltinByName(builtin->name, arguments, keywords);
  if (auto *function = get<std::shared_ptr<const Function>>(*constant)) {
    std::shared_ptr<const Function> alive = *function;
    return callFunction(*alive, arguments, keywords);
  }
  if (auto *type = get<TupleClassPtr>(*constant))
    return make(TupleClassPtr(*type), arguments, keywords);
  if (get<OpaqueRef>(*constant))
    return callHost(*constant, arguments, keywords);
  auto *type = get<TypeRef>(*constant);
  if (type && type->shape.empty() && type->whole == TypeRef::No && arguments.size() == 1 && keywords.empty())
    return callBuiltinByName("triton.language.cast", std::array{arguments[0], callee}, {});
  return session.fail(Kind::NotCallable, {describeType(callee)});
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

// Python sees constants, and of a run-time value its type and its number in `given`, in tuples and
// aggregates, too.
static Const forHost(const Value &value, std::vector<Value> &given) {
  if (auto *constant = value.constant())
    return *constant;
  if (!value.tuple()) {
    given.push_back(value);
    return {OpaqueRef{isRunTime | (given.size() - 1), describeType(value)}};
  }
  ConstTuple elements;
  elements.type = value.tuple()->type;
  for (const Value &element : *value.tuple())
    elements.push_back(forHost(element, given));
  return makeTuple(std::move(elements));
}

static Value withRunTime(const Const &answer, const std::vector<Value> &given) {
  if (auto *tuple = tupleOf(answer)) {
    ValueTuple elements;
    elements.type = tuple->type;
    for (const Const &element : *tuple)
      elements.push_back(withRunTime(element, given));
    return makeTupleValue(std::move(elements));
  }
  auto *opaque = get<OpaqueRef>(answer);
  uint64_t number = opaque && opaque->handle & isRunTime ? opaque->handle & ~isRunTime : given.size();
  return number < given.size() ? given[number] : Value(answer);
}

// A constexpr_function, or one that takes run-time values and returns one of them or a constant: the host
// runs it, now. One that computes with its run-time values answers a function, which is no constant: it is
// called with all of them.
std::optional<Value> Visitor::callHost(const Const &callee, std::span<const Value> arguments,
                                       std::span<const NamedValue> keywords) {
  if (!get<OpaqueRef>(callee)->handle) {
    session.fail(Kind::NotCallable, {get<OpaqueRef>(callee)->repr});
    setHint(session, Kind::NotCallable,
            "mark it with @triton.jit, or with @triton.constexpr_function for constants");
    return std::nullopt;
  }
  ConstTuple constants;
  std::vector<Value> given; // run-time values among the arguments and inside of them
  std::vector<std::string> keywordNames;
  bool takesAny = get<OpaqueRef>(callee)->handle & takesValues;
  auto add = [&](const Value &argument) {
    if (!argument.constant() && !takesAny)
      return refuseRunTime(*get<OpaqueRef>(callee), argument), false;
    constants.push_back(forHost(argument, given));
    return true;
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
  if (auto *recorded = reply.answer ? get<std::shared_ptr<const Function>>(reply.answer->value) : nullptr;
      recorded && takesAny && !reply.answer->isConstexpr) {
    std::shared_ptr<const Function> alive = *recorded;
    return callFunction(*alive, given, {});
  }
  if (reply.answer)
    return withRunTime(reply.answer->value, given);
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
  if (arguments.size() == 1 && isAggregate(arguments.front()))
    if (auto result = pythonOfAggregate(name, arguments.front()))
      return *result;
  auto *opaque = arguments.size() == 1 && arguments.front().constant()
                     ? get<OpaqueRef>(*arguments.front().constant())
                     : nullptr;
  if (name == "builtins.len" && opaque && opaque->handle)
    return lengthOfHost(*arguments.front().constant());
  bool areConstant =
      llvm::all_of(arguments, [](const Value &value) { return value.constant() && !isAggregate(value); });
  if (areConstant && keywords.empty()) {
    ConstTuple constants;
    for (const Value &argument : arguments)
      constants.push_back(*argument.constant());
    ConstError error;
    if (auto folded = foldCall(Const{BuiltinRef{name}}, constants, error)) {
      Value result(std::move(*folded));
      // Upstream's is a function of the language, unlike triton.cdiv.
      bool isScalar = name == "triton.language.cdiv" ||
                      llvm::any_of(arguments, [](const Value &argument) { return argument.isScalar; });
      return isScalar ? result.asScalars() : result;
    }
    bool isOfValue = error.kind == Kind::ConstDomain || error.kind == Kind::ConstTooLarge;
    if (isMath || isOfValue)
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
  auto elements = partsOf(object);
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
  local.value.isScalar &= !isConstexpr;
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
  if (!session.openLine.empty())
    session.endLine();
  return flow == Flow::Exits && session.sink.errorCount() == errors;
}

} // namespace tegula::sema
