// Expressions. Operands are visited left to right; where both are constants Python's
// arithmetic answers at once, else the session's operators emit.
#include "sema/Hints.h"
#include "sema/LibraryKinds.h"
#include "sema/Visitor.h"

#include "llvm/ADT/STLExtras.h"

namespace tegula::sema {

using diag::Kind;
using syntax::as;

uint32_t Visitor::lineOf(const syntax::Node *node) const {
  return frame->function.tree->source->position(node->range.begin).line;
}

std::nullopt_t Visitor::unsupported(std::string_view what, std::string_view instead) {
  return session.fail(Kind::UnsupportedConstruct, {what, instead});
}

std::nullopt_t Visitor::failConst(const ConstError &error) {
  session.explain(error.report(session.sink, session.place));
  return std::nullopt;
}

std::optional<Value> Visitor::visit(const syntax::Expr *node) {
  if (++nesting > maxNesting) {
    --nesting;
    isExhausted = true;
    return session.fail(Kind::NestingTooDeep, {std::to_string(maxNesting)});
  }
  diag::Range outer = session.place.range;
  session.place.range = node->range;
  auto value = dispatch(node);
  session.place.range = outer;
  --nesting;
  return value;
}

std::optional<Value> Visitor::dispatch(const syntax::Expr *node) {
  using syntax::NodeKind;
  switch (node->kind) {
  case NodeKind::NoneLiteral:
  case NodeKind::BoolLiteral:
  case NodeKind::IntLiteral:
  case NodeKind::FloatLiteral:
  case NodeKind::StringLiteral: {
    ConstError error;
    if (auto constant = literalOf(node, error))
      return Value(std::move(*constant));
    return failConst(error);
  }
  case NodeKind::Name: return visitName(*as<syntax::Name>(node));
  case NodeKind::Attribute: return visitAttribute(*as<syntax::Attribute>(node));
  case NodeKind::Subscript: return visitSubscript(*as<syntax::Subscript>(node));
  case NodeKind::Call: return visitCall(*as<syntax::Call>(node));
  case NodeKind::Unary: return visitUnary(*as<syntax::Unary>(node));
  case NodeKind::Binary: return visitBinary(*as<syntax::Binary>(node));
  case NodeKind::BoolOp: return visitBoolOp(*as<syntax::BoolOp>(node));
  case NodeKind::Compare: return visitCompare(*as<syntax::Compare>(node));
  case NodeKind::Conditional: return visitConditional(*as<syntax::Conditional>(node));
  case NodeKind::Tuple: return visitElements(as<syntax::Tuple>(node)->elements);
  case NodeKind::List: return visitElements(as<syntax::List>(node)->elements);
  case NodeKind::ListComp: return visitListComp(*as<syntax::ListComp>(node));
  case NodeKind::NamedExpr: {
    auto *walrus = as<syntax::NamedExpr>(node);
    auto value = visit(walrus->value);
    if (!value || !assignName(*walrus->target, *value))
      return std::nullopt;
    return frame->locals[walrus->target->id].value;
  }
  case NodeKind::FormatString: {
    auto text = formatParts(as<syntax::FormatString>(node)->parts);
    return text ? MaybeValue(Const{std::move(*text)}) : std::nullopt;
  }
  case NodeKind::Starred:
    return unsupported("a starred value here", "star a tuple only in the arguments of a call");
  case NodeKind::Slice: return unsupported("a slice here", "");
  case NodeKind::EllipsisLiteral: return unsupported("`...` as a value", "write each `:` of the index");
  case NodeKind::ImaginaryLiteral:
    return unsupported("a complex number", "keep real and imaginary parts apart");
  case NodeKind::UnsupportedExpr: {
    const std::string &what = as<syntax::UnsupportedExpr>(node)->what;
    bool isLambda = what.find("lambda") != std::string::npos;
    return unsupported(what, isLambda ? "write a @triton.jit function and pass that"
                             : what == syntax::namedCharacters
                                 ? "write the character itself, or its number: \\u03a3"
                                 : "use tuples, and tl operations on whole tiles");
  }
  default: // InvalidExpr: the parser has reported it
    isExhausted = true;
    return std::nullopt;
  }
}

// ---- names ------------------------------------------------------------------------------

std::optional<Value> Visitor::visitName(const syntax::Name &node) {
  auto found = frame->locals.find(node.id);
  if (found == frame->locals.end())
    return globalName(node);
  const Local &local = found->second;
  std::string line = std::to_string(local.line);
  switch (local.state) {
  case Local::Defined: return local.value;
  case Local::Declared: return session.fail(Kind::UndefinedName, {node.id});
  case Local::OneBranch: return session.fail(Kind::PartiallyDefined, {node.id, line});
  case Local::InLoop: return session.fail(Kind::LoopLocalName, {node.id, line});
  case Local::LoopVariable: return session.fail(Kind::LoopVariableGone, {node.id, line});
  case Local::Broken: return std::nullopt;
  }
  return std::nullopt;
}

static void suggest(Session &session, Kind kind, const std::string &name) {
  if (!name.empty())
    setHint(session, kind, "did you mean `" + name + "`?");
}

// Globals must be constexpr, functions, types or modules: a plain number could change
// after the kernel is compiled.
std::optional<Value> Visitor::globalName(const syntax::Name &node) {
  auto answer = host.lookup(frame->function.env, node.id);
  if (!answer) {
    if (auto builtin = findBuiltin("builtins." + node.id))
      return Value(std::move(*builtin));
    if (frame->mayBindMore)
      return std::nullopt;
    session.fail(Kind::UndefinedName, {node.id});
    suggest(session, Kind::UndefinedName, similarName(node.id, frame->locals.keys()));
    return std::nullopt;
  }
  const Const &value = answer->value;
  bool isPlain = isNumber(value) || get<std::string>(value) || tupleOf(value);
  if (isPlain && !answer->isConstexpr)
    return session.fail(Kind::GlobalNotConstexpr, {node.id, describeType(value), repr(value)});
  if (auto *opaque = get<OpaqueRef>(value); opaque && !opaque->handle)
    return session.fail(Kind::UnusableGlobal, {node.id, opaque->repr});
  return Value(value);
}

std::optional<Value> Visitor::visitAttribute(const syntax::Attribute &node) {
  auto object = visit(node.object);
  // A local name holds a constexpr, whose `value` is its object; that object's own `value` comes behind.
  auto *constant = object ? object->constant() : nullptr;
  bool isObject = constant && get<OpaqueRef>(*constant);
  if (auto *name = as<syntax::Name>(node.object);
      isObject && name && node.attribute == "value" && frame->locals.contains(name->id))
    return object;
  return object ? attributeOf(*object, node.attribute) : object;
}

std::optional<Value> Visitor::attributeOf(const Value &object, const std::string &name) {
  auto *constant = object.constant();
  if (auto elements = partsOf(object); elements && elements->type) {
    const TupleClass &type = *elements->type;
    if (size_t index = type.find(name); index < elements->size())
      return (*elements)[index];
    if (auto member = memberOf(type, name))
      return member;
    if (type.isAggregate && name == "type")
      return Value(typeOfAggregate(object));
    return session.fail(Kind::NoSuchAttribute, {describeType(object), name});
  }
  if (auto *type = constant ? get<TupleClassPtr>(*constant) : nullptr)
    return attributeOf(Value(Const{(*type)->self}), name);
  auto *module = constant ? get<ModuleRef>(*constant) : nullptr;
  if (module)
    if (auto value = moduleAttribute(*module, name))
      return Value(std::move(*value));
  if (module || (constant && get<OpaqueRef>(*constant))) {
    if (auto answer = host.attribute(frame->function.env, *constant, name)) {
      if (auto *opaque = get<OpaqueRef>(answer->value); opaque && !opaque->handle)
        return session.fail(Kind::UnusableGlobal, {name, opaque->repr});
      return Value(std::move(answer->value));
    }
    session.fail(Kind::UnknownModuleAttribute,
                 {module ? "module `" + module->name + "`" : get<OpaqueRef>(*constant)->repr, name});
    if (module)
      suggest(session, Kind::UnknownModuleAttribute, similarBuiltin(module->name + ".", name));
    return std::nullopt;
  }
  // Of a class of the language: tl.tensor.sum, tl.dtype.SIGNEDNESS.
  if (auto *builtin = constant ? get<BuiltinRef>(*constant) : nullptr)
    if (auto member = findBuiltin(builtin->name + "." + name))
      return Value(std::move(*member));
  if (name == "value" && constant && !get<BuiltinRef>(*constant))
    return object; // constexpr.value: constants are their own value here
  // Numbers and texts have Python's methods, which the host knows.
  bool isPlain = constant && (isNumber(*constant) || get<std::string>(*constant));
  if (isPlain && name != "dtype" && name != "type" && name != "shape" && name != "numel")
    if (auto answer = host.attribute(frame->function.env, *constant, name))
      return Value(std::move(answer->value));
  return attribute(session, object, name);
}

// ---- operators --------------------------------------------------------------------------

std::optional<Value> Visitor::visitBinary(const syntax::Binary &node) {
  auto left = visit(node.left);
  auto right = left ? visit(node.right) : left;
  return right ? binaryOf(node.op, *left, *right) : right;
}

static std::nullopt_t failOfTuple(Session &session, std::string_view op, const Value &left,
                                  const Value &right) {
  session.fail(Kind::ConstOperands, {op, describeType(left), describeType(right)});
  setHint(session, Kind::ConstOperands,
          "a tuple or list is no tile and no pointer: take one element of it, `x[0]`; memory comes as a "
          "tensor or an array");
  return std::nullopt;
}

// Two constants of which one is a run-time scalar of upstream's (Value::isScalar): does Python's arithmetic
// give what theirs does? Integers that do not wrap, and are not divided below zero.
static bool agreesWithScalars(syntax::BinaryOperator op, const Const &left, const Const &right) {
  using Op = syntax::BinaryOperator;
  auto a = asInt64(left), b = asInt64(right);
  constexpr int64_t most = 1 << 15; // of two factors: their product fits 32 bits
  auto isSmall = [](int64_t x) { return x > -most && x < most; };
  switch (op) {
  case Op::Add:
  case Op::Sub:
  case Op::Mul: return a && b && isSmall(*a) && isSmall(*b);
  case Op::FloorDiv:
  case Op::Mod: return a && b && *a >= 0 && *b > 0;
  case Op::And:
  case Op::Or:
  case Op::Xor: return a && b;
  default: return false;
  }
}

std::optional<Value> Visitor::binaryOf(syntax::BinaryOperator op, const Value &left, const Value &right) {
  if (isAggregate(left) || isAggregate(right))
    return binaryOfAggregates(op, left, right);
  // The classes `A | B` that isinstance asks for: a tuple of them.
  if (op == syntax::BinaryOperator::Or && namesClass(left) && namesClass(right)) {
    ValueTuple classes;
    for (const Value &side : {left, right})
      if (auto elements = elementsOf(side))
        llvm::append_range(classes, *elements);
      else
        classes.push_back(side);
    return tupleWithinLimits(std::move(classes));
  }
  if (left.constant() && right.constant()) {
    bool isScalar = left.isScalar || right.isScalar;
    bool areNumbers = isNumber(*left.constant()) && isNumber(*right.constant());
    if (isScalar && areNumbers && !agreesWithScalars(op, *left.constant(), *right.constant())) {
      auto scalar = toTensor(session, left.isScalar ? left : right);
      if (!scalar)
        return std::nullopt;
      return left.isScalar ? binaryOf(op, *scalar, right) : binaryOf(op, left, *scalar);
    }
    ConstError error;
    auto result = evaluate(op, *left.constant(), *right.constant(), error);
    if (!result)
      return failConst(error);
    Value folded(std::move(*result));
    return isScalar ? folded.asScalars() : folded;
  }
  auto leftElements = elementsOf(left), rightElements = elementsOf(right);
  if (op == syntax::BinaryOperator::Add && leftElements && rightElements) {
    leftElements->type = nullptr;
    leftElements->insert(leftElements->end(), rightElements->begin(), rightElements->end());
    return tupleWithinLimits(std::move(*leftElements));
  }
  if (op == syntax::BinaryOperator::Mul && (leftElements || rightElements)) {
    const Value &count = leftElements ? right : left;
    ValueTuple result, &unit = leftElements ? *leftElements : *rightElements;
    auto times = count.constant() ? asInt64(*count.constant()) : std::nullopt;
    if (times && (unit.empty() || *times <= static_cast<int64_t>(maxConstElements / unit.size()))) {
      times = unit.empty() ? 0 : *times;
      for (int64_t i = 0; i < *times; ++i)
        result.insert(result.end(), unit.begin(), unit.end());
      return tupleWithinLimits(std::move(result));
    }
  }
  if (leftElements || rightElements)
    return failOfTuple(session, spelling(op), left, right);
  // The library of the language computes with integers that wrap.
  return (isOfLibrary(frame->function) ? binary : checkedBinary)(session, op, left, right);
}

std::optional<Value> Visitor::visitUnary(const syntax::Unary &node) {
  auto operand = visit(node.operand);
  return operand ? unaryOf(node.op, *operand) : operand;
}

std::optional<Value> Visitor::unaryOf(syntax::UnaryOperator op, const Value &operand) {
  if (isAggregate(operand))
    return unaryOfAggregate(op, operand);
  if (auto *constant = operand.constant()) {
    ConstError error;
    auto result = evaluate(op, *constant, error);
    if (!result)
      return failConst(error);
    Value folded(std::move(*result));
    return operand.isScalar ? folded.asScalars() : folded;
  }
  if (operand.tuple() && op == syntax::UnaryOperator::Not)
    return Value(Const{operand.tuple()->empty()});
  if (operand.tuple())
    return session.fail(Kind::ConstOperand, {spelling(op), describeType(operand)});
  return unary(session, op, operand);
}

// An operand behind one that only run time knows is computed whatever that is: Python would assign a name in
// it sometimes only.
bool Visitor::assignsBehind(const MaybeValue &runTime, const syntax::Expr *operand) {
  llvm::SmallVector<llvm::StringRef> assigned;
  if (runTime && !runTime->constant())
    AssignedNames::collect(operand, assigned);
  if (assigned.empty())
    return false;
  session.place.range = operand->range;
  return unsupported("`" + assigned.front().str() + " := ...` behind a condition of the run time",
                     "assign the name ahead of the condition, or write an `if`"),
         true;
}

// Constants short-circuit wherever they stand: `run_time and False` is the constant False.
std::optional<Value> Visitor::visitBoolOp(const syntax::BoolOp &node) {
  bool stopsOn = node.op == syntax::BoolOperator::Or;
  MaybeValue runTime, constant;
  for (const syntax::Expr *operand : node.operands) {
    if (assignsBehind(runTime, operand))
      return std::nullopt;
    auto value = visit(operand);
    auto truth = value && isAggregate(*value) ? truthOfAggregate(*value) : value;
    if (!truth)
      return truth;
    bool isKnown = truth->constant() || truth->parts();
    if (isKnown) {
      if ((truth->constant() ? isTrue(*truth->constant()) : !truth->parts()->empty()) == stopsOn)
        return value;
      constant = value;
    } else if (isAggregate(*value)) {
      return unsupported("`" + std::string(spelling(node.op)) + "` of an aggregate with a run-time truth",
                         "ask the aggregate in an `if`, or compare its fields");
    } else {
      constant.reset();
      runTime = runTime ? logical(session, node.op, *runTime, *value) : value;
      if (!runTime)
        return runTime;
    }
  }
  return runTime ? runTime : constant;
}

// `a < b < c` is `a < b and b < c` with `b` evaluated once; elementwise for tiles.
std::optional<Value> Visitor::visitCompare(const syntax::Compare &node) {
  auto left = visit(node.left);
  MaybeValue result;
  for (size_t i = 0; left && i < node.ops.size(); ++i) {
    if (assignsBehind(result, node.comparators[i]))
      return std::nullopt;
    auto right = visit(node.comparators[i]);
    auto holds = right ? compareOf(node.ops[i], *left, *right) : right;
    if (!holds || (holds->constant() && !isTrue(*holds->constant())))
      return holds;
    bool isBoth = result && !result->constant() && !holds->constant();
    if (isBoth)
      result = logical(session, syntax::BoolOperator::And, *result, *holds);
    else if (!result || result->constant())
      result = holds;
    if (!result)
      return result;
    left = right;
  }
  return left ? result : left;
}

// Is an aggregate among the elements of a tuple?
static bool holdsAggregate(const Value &value) {
  auto elements = elementsOf(value);
  return elements && llvm::any_of(*elements, [](const Value &element) {
           return isAggregate(element) || holdsAggregate(element);
         });
}

std::optional<Value> Visitor::compareOf(syntax::CompareOperator op, const Value &left, const Value &right) {
  using syntax::CompareOperator;
  bool isIdentity = op == CompareOperator::Is || op == CompareOperator::IsNot;
  if (!isIdentity && (isAggregate(left) || isAggregate(right)))
    return compareAggregates(op, left, right);
  if (left.constant() && right.constant() &&
      (isIdentity || !(holdsAggregate(left) || holdsAggregate(right)))) {
    if (auto *object = get<OpaqueRef>(*right.constant());
        object && object->handle && (op == CompareOperator::In || op == CompareOperator::NotIn))
      return isKey(op, left, right);
    auto isMadeByHost = [](const Const &value) {
      auto *object = get<OpaqueRef>(value);
      return object && (object->repr == "a block_type" || object->repr == "a pointer_type");
    };
    if ((isMadeByHost(*left.constant()) && get<TypeRef>(*right.constant())) ||
        (isMadeByHost(*right.constant()) && get<TypeRef>(*left.constant())))
      return unsupported("a comparison of a type that the kernel made with one that Python made",
                         "compare their parts: `T.element_ty`, `T.shape`");
    ConstError error;
    auto result = evaluate(op, *left.constant(), *right.constant(), error);
    return result ? MaybeValue(std::move(*result)) : failConst(error);
  }
  // A run-time value is no constant: `x is None` is known here.
  if (isIdentity)
    return Value(Const{op == CompareOperator::IsNot});
  bool isEquality = op == CompareOperator::Eq || op == CompareOperator::Ne;
  if (isEquality && (left.isNone() || right.isNone()))
    return Value(Const{op == CompareOperator::Ne});
  if (op == CompareOperator::In || op == CompareOperator::NotIn)
    return unsupported("`" + std::string(spelling(op)) + "` with a run-time value",
                       "compare with each element");
  auto leftElements = elementsOf(left), rightElements = elementsOf(right);
  if (isEquality && leftElements && rightElements)
    return equalityOfTuples(op, *leftElements, *rightElements);
  if (leftElements || rightElements)
    return failOfTuple(session, spelling(op), left, right);
  return compare(session, op, left, right);
}

// A key of a dictionary of the host's: a call with the key as the argument `in`, a name that no other call
// has.
std::optional<Value> Visitor::isKey(syntax::CompareOperator op, const Value &key, const Value &object) {
  std::string name = "in";
  HostReply reply = host.call(frame->function.env, *object.constant(), {key.constant(), 1}, {&name, 1});
  if (!reply.answer)
    return session.fail(Kind::ConstOperands, {spelling(op), describeType(key), describeType(object)});
  return Value(Const{isTrue(reply.answer->value) == (op == syntax::CompareOperator::In)});
}

// Tuples are equal if all of their elements are; what no run-time value decides is a constant.
std::optional<Value> Visitor::equalityOfTuples(syntax::CompareOperator op, const ValueTuple &left,
                                               const ValueTuple &right) {
  bool isUnequal = op == syntax::CompareOperator::Ne;
  if (left.size() != right.size())
    return Value(Const{isUnequal});
  MaybeValue runTime;
  for (auto [a, b] : llvm::zip_equal(left, right)) {
    bool isNegated = isUnequal && (isAggregate(a) || isAggregate(b));
    auto holds = compareOf(isNegated ? syntax::CompareOperator::Eq : op, a, b);
    holds = holds && isNegated ? negated(*holds) : holds;
    if (!holds)
      return holds;
    if (auto *known = holds->constant()) {
      if (isTrue(*known) == isUnequal)
        return holds;
      continue;
    }
    auto both = isUnequal ? syntax::BoolOperator::Or : syntax::BoolOperator::And;
    runTime = runTime ? logical(session, both, *runTime, *holds) : holds;
    if (!runTime)
      return runTime;
  }
  return runTime ? runTime : MaybeValue(Value(Const{!isUnequal}));
}

// A run-time condition makes it an `if` whose branches assign the value, of one type, and what the sides
// assign (`:=`).
std::optional<Value> Visitor::visitConditional(const syntax::Conditional &node) {
  auto test = visit(node.condition);
  if (!test)
    return test;
  auto decided = condition(*test);
  if (!decided)
    return std::nullopt;
  if (decided->constant)
    return visit(*decided->constant ? node.then : node.orelse);
  NameList changed;
  AssignedNames::collect(node.then, changed);
  AssignedNames::collect(node.orelse, changed);
  llvm::sort(changed);
  changed.erase(llvm::unique(changed), changed.end());
  changed.push_back(conditionalValue);
  std::optional<Type> type;
  auto side = [&](const syntax::Expr *expression) {
    auto value = visit(expression);
    if (!value)
      return Flow::Failed;
    if (!value->tensor() && !(value->constant() && isNumber(*value->constant())))
      return refuseChoice(*value), Flow::Failed;
    auto tensor = toTensor(session, *value);
    if (!tensor)
      return Flow::Failed;
    if (type && *type != tensor->type)
      return session.fail(Kind::ConditionalMismatch, {spelling(*type), spelling(tensor->type)}), Flow::Failed;
    type = tensor->type;
    frame->locals[conditionalValue] = Local{Local::Defined, false, lineOf(&node), Value(*tensor), {}};
    return Flow::Next;
  };
  Rest none;
  if (visitBranches(
          node, decided->runTime, std::move(changed), [&] { return side(node.then); },
          [&] { return side(node.orelse); }, none) != Flow::Next)
    return std::nullopt;
  Value value = frame->locals[conditionalValue].value;
  frame->locals.erase(conditionalValue);
  return value;
}

std::nullopt_t Visitor::refuseChoice(const Value &value) {
  return unsupported("`a if condition else b` with " + describeType(value) + " and a run-time condition",
                     value.parts() || isAggregate(value)
                         ? "write an `if` statement whose branches assign it"
                         : "only numbers and tiles are chosen while the kernel runs; decide by a constant");
}

} // namespace tegula::sema
