// Loops. tl.static_range is unrolled here; `range` and `while` become scf.for and
// scf.while. What a loop carries is known before its body is visited, once: the names the
// body assigns that have a value before it. Numbers among them become run-time values
// first; carried values that turn out not to change are dropped by canonicalization.
#include "sema/LoopParts.h"
#include "sema/builtins/Emit.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"

namespace tegula::sema {

using diag::Kind;
using syntax::as;

void leaves(const Value &value, llvm::SmallVectorImpl<mlir::Value> &into) {
  if (auto *tensor = value.tensor())
    into.push_back(tensor->value);
  if (auto *parts = value.parts())
    for (const Value &part : *parts)
      leaves(part, into);
}

Value rebuild(const Value &like, mlir::ValueRange &values) {
  if (auto *tensor = like.tensor()) {
    Tensor result{values.front(), tensor->type};
    values = values.drop_front();
    return result;
  }
  auto *parts = like.parts();
  if (!parts)
    return like;
  ValueTuple result = *parts; // with its class
  for (Value &part : result)
    part = rebuild(part, values);
  return like.withParts(std::move(result));
}

namespace {

// Numbers become run-time scalars, in tuples too.
std::optional<Value> toRunTime(Session &session, const Value &value) {
  auto elements = elementsOf(value); // constants of an aggregate are fields that are constexpr
  if (elements) {
    auto result = std::make_shared<ValueTuple>(std::move(*elements));
    for (Value &element : *result) {
      auto converted = toRunTime(session, element);
      if (!converted)
        return converted;
      element = std::move(*converted);
    }
    return Value(std::move(result));
  }
  auto *constant = value.constant();
  if (!constant || !isNumber(*constant))
    return value;
  auto tensor = toTensor(session, value);
  return tensor ? std::optional(Value(*tensor)) : std::nullopt;
}

bool hasLeaves(const Value &value) {
  llvm::SmallVector<mlir::Value> found;
  leaves(value, found);
  return !found.empty();
}

// The leaves of `value`, if it has the structure and the types of `like`.
bool collectLike(Session &session, const Value &like, const Value &value,
                 llvm::SmallVectorImpl<mlir::Value> &into) {
  if (auto *expected = like.tensor()) {
    if (value.constant() && !isNumber(*value.constant()))
      return false;
    auto tensor = value.parts() ? std::nullopt : toTensor(session, value);
    if (!tensor || tensor->type != expected->type)
      return false;
    into.push_back(tensor->value);
    return true;
  }
  auto expected = partsOf(like), elements = partsOf(value);
  if (auto *record = like.record()) {
    if (!value.record() || value.record()->type != record->type)
      return false;
    expected = record->fields, elements = value.record()->fields;
  }
  if (!expected)
    return value.constant() && like.constant() && isSame(*like.constant(), *value.constant());
  if (!elements || elements->size() != expected->size() || !isSameClass(elements->type, expected->type))
    return false;
  for (size_t i = 0; i < expected->size(); ++i)
    if (!collectLike(session, (*expected)[i], (*elements)[i], into))
      return false;
  return true;
}

// Upstream's promotion of two integer types: the wider; of equal width unsigned wins.
DType promoteIntegers(DType a, DType b) {
  if (isSigned(a) == isSigned(b))
    return bitWidth(a) > bitWidth(b) ? a : b;
  DType theUnsigned = isSigned(a) ? b : a, theSigned = isSigned(a) ? a : b;
  return bitWidth(theUnsigned) >= bitWidth(theSigned) ? theUnsigned : theSigned;
}

} // namespace

// ---- for ----------------------------------------------------------------------------------

Flow Visitor::visitFor(const syntax::For &node) {
  if (!node.orelse.empty())
    return unsupported("`else` of a loop", "put the statements after the loop"), Flow::Failed;
  auto *call = as<syntax::Call>(node.iterable);
  auto callee = call ? visit(call->callee) : MaybeValue();
  if (call && !callee)
    return Flow::Failed;
  auto *builtin = callee && callee->constant() ? get<BuiltinRef>(*callee->constant()) : nullptr;
  std::string name = builtin ? builtin->name : "";
  bool isStatic = name == "triton.language.static_range";
  if (!isStatic && name != "builtins.range" && name != "triton.language.range")
    return visitForOverTuple(node);
  session.place.range = call->range;
  auto bounds = visitBounds(*call, isStatic);
  session.place.range = node.range;
  if (!bounds)
    return Flow::Failed;
  return isStatic ? visitStaticRange(node, *bounds) : visitRunTimeFor(node, *bounds);
}

// range(stop), range(start, stop[, step]), and the hints of tl.range.
std::optional<Visitor::Bounds> Visitor::visitBounds(const syntax::Call &call, bool isStatic) {
  std::vector<Value> arguments;
  std::vector<NamedValue> keywords;
  if (!visitArguments(call, arguments, keywords))
    return std::nullopt;
  const char *name = isStatic ? "tl.static_range" : "range";
  MaybeValue places[3];
  static constexpr std::string_view positional[] = {"arg1", "arg2", "step"};
  static constexpr std::string_view hints[] = {
      "num_stages", "loop_unroll_factor", "disallow_acc_multi_buffer",
      "flatten",    "warp_specialize",    "disable_licm"};
  for (size_t i = 0; i < std::min<size_t>(arguments.size(), 3); ++i)
    places[i] = arguments[i];
  if (arguments.size() > 3)
    return session.fail(Kind::CallTooManyArguments, {name, "3", std::to_string(arguments.size())});
  Bounds bounds;
  for (NamedValue &keyword : keywords) {
    auto place = llvm::find(positional, keyword.name);
    if (place != std::end(positional)) {
      places[place - positional] = std::move(keyword.value);
      continue;
    }
    if (isStatic || !llvm::is_contained(hints, keyword.name))
      return session.fail(Kind::UnknownKeyword, {name, keyword.name});
    if (!keyword.value.constant())
      return session.fail(Kind::ConstexprNeeded, {"`" + keyword.name + "`", describeType(keyword.value)});
    auto number = asInt64(*keyword.value.constant());
    bool isFlag = keyword.name != "num_stages" && keyword.name != "loop_unroll_factor";
    int64_t most = keyword.name == "num_stages" ? maxStages : std::numeric_limits<int32_t>::max();
    if (!isFlag && !keyword.value.isNone() && (!number || *number < 0 || *number > most))
      return session.fail(Kind::BuiltinWrongArgument,
                          {"tl.range", keyword.name, "an int from 0 to " + std::to_string(most),
                           builtins::describe(keyword.value)});
    if (!isTrue(*keyword.value.constant()) && (isFlag || !number))
      continue; // False, or None
    mlir::Attribute attribute = isFlag ? mlir::Attribute(builder.getUnitAttr())
                                       : builder.getI32IntegerAttr(static_cast<int32_t>(number.value_or(0)));
    bounds.attributes.push_back(builder.getNamedAttr("tt." + keyword.name, attribute));
  }
  if (!places[0])
    return session.fail(Kind::MissingArgument, {name, "arg1"});
  bool isStopOnly = !places[1] || places[1]->isNone();
  bounds.lower = isStopOnly ? Value(makeInt(0)) : *places[0];
  bounds.upper = isStopOnly ? *places[0] : *places[1];
  bounds.step = !places[2] || places[2]->isNone() ? Value(makeInt(1)) : *places[2];
  return bounds;
}

// The body once for each value, with the variable as a constant.
Flow Visitor::visitStaticRange(const syntax::For &node, const Bounds &bounds) {
  int64_t values[3];
  std::pair<const char *, const Value *> parts[] = {
      {"the start", &bounds.lower}, {"the stop", &bounds.upper}, {"the step", &bounds.step}};
  for (size_t i = 0; i < 3; ++i) {
    const Value &value = *parts[i].second;
    auto integer = value.constant() ? asInt64(*value.constant()) : std::nullopt;
    if (!integer)
      return session.fail(Kind::StaticRangeBound, {parts[i].first, describeType(value)}), Flow::Failed;
    values[i] = *integer;
  }
  auto [start, stop, step] = values;
  if (step == 0)
    return session.fail(Kind::LoopStepZero), Flow::Failed;
  if (!as<syntax::Name>(node.target))
    return unsupported("a loop variable that is not a name", "unpack inside the loop"), Flow::Failed;
  ++frame->staticLoops, ++frame->loops;
  Flow flow = Flow::Next;
  for (int64_t i = start; flow != Flow::Failed && (step > 0 ? i < stop : i > stop);) {
    flow = visitTrip(node, Value(makeInt(i)), flow);
    if (flow == Flow::Exits || __builtin_add_overflow(i, step, &i))
      break;
  }
  --frame->staticLoops, --frame->loops;
  return flow == Flow::Failed ? flow : leaveStaticRange();
}

// The body once for each element: `for p in pointers`, `for x, w in ((a, 1), (b, 2))`.
Flow Visitor::visitForOverTuple(const syntax::For &node) {
  auto iterable = visit(node.iterable);
  if (!iterable)
    return Flow::Failed;
  auto elements = elementsOf(*iterable);
  if (!elements) {
    session.place.range = node.iterable->range;
    if (isAggregate(*iterable))
      return session.fail(Kind::NotATuple, {describeType(*iterable)}), Flow::Failed;
    return session.fail(Kind::LoopIterable), Flow::Failed;
  }
  ++frame->staticLoops, ++frame->loops;
  Flow flow = Flow::Next;
  for (size_t i = 0; i < elements->size() && flow != Flow::Failed && flow != Flow::Exits; ++i)
    flow = visitTrip(node, (*elements)[i], flow);
  --frame->staticLoops, --frame->loops;
  return flow == Flow::Failed ? flow : leaveStaticRange();
}

// One trip of a loop that is unrolled, on the paths that have not left the loop before.
Flow Visitor::visitTrip(const syntax::For &node, const Value &value, Flow before) {
  if (!spend())
    return Flow::Failed;
  auto body = [&] { return bindTarget(node.target, value) ? visitBlock(node.body) : Flow::Failed; };
  NameList changed;
  AssignedNames::collectTarget(node.target, changed);
  if (before == Flow::MayExit) {
    const BlockFacts &facts = names.of(node.body);
    changed.append(facts.assigned.begin(), facts.assigned.end());
    changed.append(facts.loopVariables.begin(), facts.loopVariables.end());
  }
  Flow flow = goOn(before, node, std::move(changed), body);
  bool goesOn = flow == Flow::Next || flow == Flow::MayExit || hasExit(exitContinue);
  forget(exitContinue);
  if (flow == Flow::Failed || !goesOn)
    return flow;
  return hasExit(exitBreak) || hasExit(exitReturn) ? Flow::MayExit : Flow::Next;
}

Flow Visitor::leaveStaticRange() {
  bool goesOn = !hasExit(exitReturn);
  bool mayGoOn = hasExit(exitBreak) || !isAlways(exitReturn);
  forget(exitBreak);
  return goesOn ? Flow::Next : mayGoOn ? Flow::MayExit : Flow::Exits;
}

// The bounds as run-time scalars of one type: upstream's promotion of the three.
std::optional<Visitor::RunTimeRange> Visitor::runTimeRange(const Bounds &bounds) {
  // A constant negative step counts up over the same values and turns the variable around.
  Value lowerBound = bounds.lower, upperBound = bounds.upper, stepValue = bounds.step;
  bool isReversed = false;
  if (auto *constant = stepValue.constant(); constant && isInteger(*constant)) {
    ConstError error;
    if (!isTrue(*constant))
      return session.fail(Kind::LoopStepZero);
    isReversed = integerOf(*constant).isNegative();
    if (isReversed) {
      stepValue = *evaluate(syntax::UnaryOperator::Negate, *constant, error);
      std::swap(lowerBound, upperBound);
    }
  }
  std::optional<Tensor> parts[3];
  std::pair<const char *, const Value *> sources[] = {{isReversed ? "stop" : "start", &lowerBound},
                                                      {isReversed ? "start" : "stop", &upperBound},
                                                      {"step", &stepValue}};
  std::optional<DType> type;
  for (size_t i = 0; i < 3; ++i) {
    const Value &value = *sources[i].second;
    bool isNumberOrTensor = value.tensor() || (value.constant() && isNumber(*value.constant()));
    parts[i] = isNumberOrTensor ? toTensor(session, value) : std::nullopt;
    bool isIntegerScalar =
        parts[i] && parts[i]->type.isScalar() && !parts[i]->type.pointer && isInteger(parts[i]->type.element);
    if (isNumberOrTensor && !parts[i])
      return std::nullopt; // reported: an integer of more than 64 bits
    if (!isIntegerScalar)
      return session.fail(Kind::LoopBound, {sources[i].first, describeType(value)});
    // A condition is the number 0 or 1, as in Python.
    if (parts[i]->type.element == DType::I1 && !(parts[i] = cast(session, *parts[i], DType::I32)))
      return std::nullopt;
    type = type ? promoteIntegers(*type, parts[i]->type.element) : parts[i]->type.element;
  }
  for (auto &part : parts)
    if (!(part = cast(session, *part, *type)))
      return std::nullopt;
  return RunTimeRange{*parts[0], *parts[1], *parts[2], isReversed};
}

std::optional<Value> Visitor::rangeFromHost(const Value &lower, const Value &upper, const Value &step) {
  auto range = runTimeRange({lower, upper, step, {}});
  if (!range)
    return std::nullopt;
  return makeTupleValue({range->lower, range->upper, range->step, Value(Const{range->isReversed})});
}

Flow Visitor::visitRunTimeFor(const syntax::For &node, const Bounds &bounds) {
  auto *target = as<syntax::Name>(node.target);
  if (!target)
    return unsupported("a loop variable that is not a name", "unpack inside the loop"), Flow::Failed;
  auto range = runTimeRange(bounds);
  if (!range)
    return Flow::Failed;
  auto outer = save({target->id}).front();
  if (isAssignedIn(node.body, target->id)) // carried from the value that it has without a trip
    bindLoopVariable(node, variableWithoutTrip(*range, outer), true);
  auto carried = carriedNames(&node, node.body, nullptr, target);
  if (!carried)
    return Flow::Failed;
  if (leavesEarly(node.body, *carried, target))
    return visitForWithExits(node, *range, *carried, outer);
  mlir::Location loc = session.loc();
  auto op = mlir::scf::ForOp::create(builder, loc, range->lower.value, range->upper.value, range->step.value,
                                     carried->operands, /*bodyBuilder=*/nullptr,
                                     /*unsignedCmp=*/isUnsigned(range->lower.type.element));
  for (mlir::NamedAttribute attribute : bounds.attributes)
    op->setAttr(attribute.getName(), attribute.getValue());
  // Without carried values the builder has ended the body already.
  if (!op.getBody()->empty())
    op.getBody()->back().erase();
  mlir::OpBuilder::InsertPoint after = builder.saveInsertionPoint();
  builder.setInsertionPointToEnd(op.getBody());
  bindCarried(*carried, op.getRegionIterArgs());
  Tensor variable{op.getInductionVar(), range->lower.type};
  if (range->isReversed) {
    auto sum = binary(session, syntax::BinaryOperator::Add, range->lower, range->upper);
    auto turned = sum ? binary(session, syntax::BinaryOperator::Sub, *sum, Value(variable)) : sum;
    if (!turned)
      return Flow::Failed;
    variable = *turned->tensor();
  }
  frame->locals[target->id] = Local{Local::Defined, false, lineOf(&node), Value(variable), {}};

  Flow flow = Flow::Failed;
  if (regions < maxRegions) {
    ++regions, ++frame->loops;
    flow = visitBlock(node.body);
    --regions, --frame->loops;
    forget(exitContinue);
  } else {
    isExhausted = true;
    session.fail(Kind::NestingTooDeep, {std::to_string(maxRegions)});
  }
  session.place.range = node.range;
  auto yields = flow == Flow::Failed ? std::nullopt : collectCarried(*carried);
  if (yields) {
    mlir::scf::YieldOp::create(builder, loc, *yields);
  }
  leaveLoop(*carried, op.getResults(), lineOf(&node));
  builder.restoreInsertionPoint(after);
  if (!yields)
    return Flow::Failed;
  bindLastTrip(node, *range, outer);
  return Flow::Next;
}

bool Visitor::isAssignedIn(const syntax::Block &body, llvm::StringRef name) {
  const BlockFacts &facts = names.of(body);
  return llvm::is_contained(facts.assigned, name) || llvm::is_contained(facts.loopVariables, name);
}

mlir::Value Visitor::hasTripOf(const RunTimeRange &range) {
  namespace arith = mlir::arith;
  auto less = isUnsigned(range.lower.type.element) ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
  return builder.createOrFold<arith::CmpIOp>(session.loc(), less, range.lower.value, range.upper.value);
}

Tensor Visitor::startOf(const RunTimeRange &range) { return range.isReversed ? range.upper : range.lower; }

Tensor Visitor::variableWithoutTrip(const RunTimeRange &range, const std::optional<Local> &before) {
  mlir::Value value = valueWithoutTrip(before, startOf(range));
  return {value ? value : startOf(range).value, range.lower.type};
}

// A variable that the body assigns is, behind the loop, as the body left it, which the loop carries. Where
// there may be no trip, and its value from before is no such, it has none.
bool Visitor::keepAssignedVariable(const syntax::For &node, const RunTimeRange &range,
                                   const std::optional<Local> &before) {
  llvm::StringRef name = as<syntax::Name>(node.target)->id;
  if (!isAssignedIn(node.body, name))
    return false;
  if (!mlir::matchPattern(hasTripOf(range), mlir::m_One()) && !valueWithoutTrip(before, startOf(range)))
    frame->locals[name] = Local{Local::LoopVariable, false, lineOf(&node), {}, {}};
  return true;
}

// The variable behind the loop: its last value; without a trip what it was before, else the start.
void Visitor::bindLastTrip(const syntax::For &node, const RunTimeRange &range,
                           const std::optional<Local> &before) {
  namespace arith = mlir::arith;
  if (keepAssignedVariable(node, range, before))
    return;
  mlir::Location loc = session.loc();
  mlir::Value lower = range.lower.value, upper = range.upper.value, step = range.step.value;
  mlir::Value hasTrip = hasTripOf(range);
  mlir::Value one = literal(session, makeInt(1), range.lower.type.element).value;
  mlir::Value span = builder.createOrFold<arith::SubIOp>(loc, upper, lower);
  mlir::Value inside = builder.createOrFold<arith::SubIOp>(loc, span, one);
  mlir::Value isDivisor = builder.createOrFold<arith::CmpIOp>(
      loc, arith::CmpIPredicate::ne, step, literal(session, makeInt(0), range.lower.type.element).value);
  mlir::Value divisor = builder.createOrFold<arith::SelectOp>(loc, isDivisor, step, one);
  mlir::Value past = builder.createOrFold<arith::RemUIOp>(loc, inside, divisor);
  mlir::Value last =
      builder.createOrFold<arith::SubIOp>(loc, upper, builder.createOrFold<arith::AddIOp>(loc, past, one));
  if (range.isReversed) {
    mlir::Value sum = builder.createOrFold<arith::AddIOp>(loc, lower, upper);
    last = builder.createOrFold<arith::SubIOp>(loc, sum, last);
  }
  bool isSure = mlir::matchPattern(hasTrip, mlir::m_One());
  mlir::Value without = isSure ? last : valueWithoutTrip(before, startOf(range));
  if (without && !isSure)
    last = builder.createOrFold<arith::SelectOp>(loc, hasTrip, last, without);
  bindLoopVariable(node, {last, range.lower.type}, without != nullptr);
}

// Null: it had a value that is not known here, or that the variable's type cannot hold.
mlir::Value Visitor::valueWithoutTrip(const std::optional<Local> &before, const Tensor &start) {
  if (!before || before->state == Local::Declared)
    return start.value;
  if (before->state != Local::Defined)
    return nullptr;
  auto *constant = before->value.constant();
  bool hasNumber = before->value.tensor() || (constant && isNumber(*constant));
  auto tensor = hasNumber ? toTensor(session, before->value) : std::nullopt;
  if (tensor && tensor->type == start.type)
    return tensor->value;
  bool isWhole =
      tensor && tensor->type.isScalar() && !tensor->type.pointer && isInteger(tensor->type.element);
  DType from = isWhole ? tensor->type.element : DType::I64, to = start.type.element;
  bool isHeld = isWhole && bitWidth(from) < bitWidth(to) && (!isSigned(from) || isSigned(to));
  auto held = isHeld ? cast(session, *tensor, to) : std::nullopt;
  return held ? held->value : nullptr;
}

void Visitor::bindLoopVariable(const syntax::For &node, const Tensor &value, bool isKnown) {
  Local local{isKnown ? Local::Defined : Local::LoopVariable, false, lineOf(&node), Value(value), {}};
  local.isLastTrip = true;
  frame->locals[as<syntax::Name>(node.target)->id] = std::move(local);
}

// ---- while --------------------------------------------------------------------------------

Flow Visitor::visitWhile(const syntax::While &node) {
  if (!node.orelse.empty())
    return unsupported("`else` of a loop", "put the statements after the loop"), Flow::Failed;
  if (regions >= maxRegions) {
    isExhausted = true;
    return session.fail(Kind::NestingTooDeep, {std::to_string(maxRegions)}), Flow::Failed;
  }
  auto carried = carriedNames(&node, node.body, node.condition, nullptr);
  if (!carried)
    return Flow::Failed;
  if (leavesEarly(node.body, *carried, nullptr))
    return visitWhileWithExits(node, *carried);
  mlir::Location loc = session.loc();
  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<mlir::Location> locations(carried->operands.size(), loc);
  for (mlir::Value operand : carried->operands)
    types.push_back(operand.getType());
  auto op = mlir::scf::WhileOp::create(builder, loc, types, carried->operands);
  mlir::Block *before = builder.createBlock(&op.getBefore(), {}, types, locations);
  bindCarried(*carried, before->getArguments());
  ++regions, ++frame->loops;

  auto test = visit(node.condition);
  session.place.range = node.condition->range;
  auto decided = test ? condition(*test) : std::nullopt;
  session.place.range = node.range;
  bool isNever = decided && decided->constant && !*decided->constant;
  bool isFine = decided && !decided->constant;
  if (decided && decided->constant && *decided->constant)
    session.fail(Kind::LoopNeverEnds);
  auto forwarded = isFine ? collectCarried(*carried) : std::nullopt;
  // What the condition assigns and the loop does not carry goes from its region to the body and behind the
  // loop.
  std::vector<std::pair<llvm::StringRef, Local>> found =
      forwarded ? foundByCondition(node, *carried) : decltype(found)();
  auto bindAll = [&](mlir::ValueRange values) {
    mlir::ValueRange rest = values.drop_front(carried->operands.size());
    for (auto &[name, local] : found)
      frame->locals[name] =
          Local{Local::Defined, false, local.line, rebuild(local.value, rest), local.number};
  };
  if (forwarded) {
    for (auto &[name, local] : found)
      leaves(local.value, *forwarded);
    types.clear();
    for (mlir::Value value : *forwarded)
      types.push_back(value.getType());
    locations.resize(types.size(), loc);
    mlir::scf::ConditionOp::create(builder, loc, decided->runTime, *forwarded);
    restore(carried->assigned, carried->before);
    for (llvm::StringRef name : carried->variables)
      frame->locals[name] = Local{Local::LoopVariable, false, lineOf(&node), {}, {}};
    mlir::Block *body = builder.createBlock(&op.getAfter(), {}, types, locations);
    bindCarried(*carried, body->getArguments().take_front(carried->operands.size()));
    bindAll(body->getArguments());
    isFine = visitBlock(node.body) != Flow::Failed;
    forget(exitContinue);
    session.place.range = node.range;
    auto yields = isFine ? collectCarried(*carried) : std::nullopt;
    if (yields)
      mlir::scf::YieldOp::create(builder, loc, *yields);
    isFine = yields.has_value();
    if (types.size() != op.getNumResults()) {
      builder.setInsertionPoint(op);
      auto more = mlir::scf::WhileOp::create(builder, loc, types, carried->operands);
      more.getBefore().takeBody(op.getBefore());
      more.getAfter().takeBody(op.getAfter());
      op.erase();
      op = more;
    }
  }
  isFine &= forwarded.has_value();
  --regions, --frame->loops;
  leaveLoop(*carried, op.getResults().take_front(carried->operands.size()), lineOf(&node));
  bindAll(op.getResults());
  builder.setInsertionPointAfter(op);
  if (isNever) {
    restore(carried->assigned, carried->before);
    op.erase();
    return Flow::Next;
  }
  return isFine ? Flow::Next : Flow::Failed;
}

// The names that the condition of a `while` assigns and the loop does not carry, with their values there.
std::vector<std::pair<llvm::StringRef, Local>> Visitor::foundByCondition(const syntax::While &node,
                                                                         const Carried &carried) {
  std::vector<std::pair<llvm::StringRef, Local>> found;
  llvm::SmallVector<llvm::StringRef> assigned;
  AssignedNames::collect(node.condition, assigned);
  for (llvm::StringRef name : assigned)
    if (auto local = frame->locals.find(name); local != frame->locals.end() &&
                                               local->second.state == Local::Defined &&
                                               !llvm::is_contained(carried.names, name))
      found.emplace_back(name, local->second);
  return found;
}

// ---- what a loop carries --------------------------------------------------------------------

// The names in a condition of which only is asked whether they are something: `x is None`. Of values of the
// run time that is known, and all else is not.
static void collectIdentities(const syntax::Expr *test, llvm::SmallPtrSetImpl<const syntax::Name *> &names) {
  using syntax::CompareOperator;
  if (auto *compare = as<syntax::Compare>(test)) {
    bool isIdentity = llvm::all_of(compare->ops, [](CompareOperator op) {
      return op == CompareOperator::Is || op == CompareOperator::IsNot;
    });
    if (!isIdentity)
      return;
    for (const syntax::Expr *side : compare->comparators)
      if (auto *name = as<syntax::Name>(side))
        names.insert(name);
    if (auto *name = as<syntax::Name>(compare->left))
      names.insert(name);
  } else if (auto *all = as<syntax::BoolOp>(test)) {
    for (const syntax::Expr *operand : all->operands)
      collectIdentities(operand, names);
  } else if (auto *unary = as<syntax::Unary>(test)) {
    collectIdentities(unary->operand, names);
  }
}

// A constant stays one if only dead code assigns it: conditions over names that the loop leaves alone are
// decided here, without emitting anything.
BlockFacts Visitor::liveFacts(const syntax::Block &body, llvm::ArrayRef<llvm::StringRef> assigned,
                              const syntax::Name *variable) {
  llvm::SmallPtrSet<const syntax::Name *, 4> identities;
  auto resolve = [&](const syntax::Name &name) -> std::optional<Const> {
    bool isVariable = variable && name.id == variable->id;
    auto found = frame->locals.find(name.id);
    if (isVariable || llvm::is_contained(assigned, name.id))
      return std::nullopt;
    if (found != frame->locals.end()) {
      bool isKnown = found->second.state == Local::Defined && found->second.value.constant();
      if (isKnown)
        return *found->second.value.constant();
      return identities.contains(&name) ? std::optional(Const{OpaqueRef{~0ull, "a run-time value"}})
                                        : std::nullopt;
    }
    auto answer = host.lookup(frame->function.env, name.id);
    return answer ? std::optional(answer->value) : std::nullopt;
  };
  auto decide = [&](const syntax::Expr *test) -> std::optional<bool> {
    ConstFailure failure;
    collectIdentities(test, identities);
    auto value = evaluateExpression(test, resolve, failure);
    if (!value || (get<OpaqueRef>(*value) && get<OpaqueRef>(*value)->handle == ~0ull))
      return std::nullopt;
    return isTrue(*value);
  };
  return AssignedNames::live(body, decide);
}

std::optional<Visitor::Carried> Visitor::carriedNames(const syntax::Stmt *place, const syntax::Block &body,
                                                      const syntax::Expr *condition,
                                                      const syntax::Expr *target) {
  Carried carried;
  auto *variable = as<syntax::Name>(target);
  const BlockFacts &facts = names.of(body);
  carried.assigned = facts.assigned;
  carried.variables = facts.loopVariables;
  if (condition)
    AssignedNames::collect(condition, carried.assigned);
  if (variable) {
    llvm::erase(carried.assigned, llvm::StringRef(variable->id));
    llvm::erase(carried.variables, llvm::StringRef(variable->id));
    if (isAssignedIn(body, variable->id))
      carried.variables.push_back(variable->id);
  }
  size_t own = carried.assigned.size();
  carried.assigned.append(carried.variables.begin(), carried.variables.end());
  carried.before = save(carried.assigned);
  // Of the variables of loops inside, those with a value from before are carried; others have none yet.
  auto isCarriedVariable = [&](size_t i) {
    const auto &before = carried.before[i];
    auto *tensor = before && before->state == Local::Defined ? before->value.tensor() : nullptr;
    return tensor && tensor->type.isScalar() && !tensor->type.pointer;
  };
  for (size_t i = own; i < carried.assigned.size(); ++i)
    if (!isCarriedVariable(i))
      frame->locals[carried.assigned[i]] = Local{Local::LoopVariable, false, lineOf(place), {}, {}};

  std::optional<BlockFacts> live;
  auto isLive = [&](llvm::StringRef name) {
    if (!live) {
      live = liveFacts(body, carried.assigned, variable);
      if (condition)
        AssignedNames::collect(condition, live->assigned);
    }
    return llvm::is_contained(live->assigned, name);
  };
  for (size_t i = 0; i < carried.assigned.size(); ++i) {
    const auto &local = carried.before[i];
    if (!local || local->state != Local::Defined || local->isConstexpr || (i >= own && !isCarriedVariable(i)))
      continue;
    if (local->value.constant() && !isLive(carried.assigned[i]))
      continue;
    auto initial = toRunTime(session, local->value);
    if (!initial)
      return std::nullopt;
    carried.names.push_back(carried.assigned[i]);
    leaves(*initial, carried.operands);
    carried.initial.push_back(std::move(*initial));
  }
  if (carried.operands.size() > maxCarried) {
    session.place.range = place->range;
    return session.fail(Kind::TooManyCarried,
                        {std::to_string(carried.operands.size()), std::to_string(maxCarried)});
  }
  return carried;
}

void Visitor::bindCarried(Carried &carried, mlir::ValueRange values) {
  carried.entered.clear();
  for (size_t i = 0; i < carried.names.size(); ++i) {
    Local &local = frame->locals[carried.names[i]];
    bool isRunTime = hasLeaves(carried.initial[i]);
    auto number = isRunTime && local.value.constant() && isNumber(*local.value.constant())
                      ? std::optional(*local.value.constant())
                      : local.number;
    local = Local{Local::Defined, false, local.line, rebuild(carried.initial[i], values), number};
    local.isLastTrip = llvm::is_contained(carried.variables, carried.names[i]);
    carried.entered.push_back(local.value);
  }
}

// The variable of a loop inside that ends without a value, or with one of another type, is not defined behind
// the loop, unless its value from before is wanted in it.
bool Visitor::letGo(Carried &carried, size_t i, llvm::SmallVectorImpl<mlir::Value> &into) {
  mlir::Value held = carried.entered[i].tensor() ? carried.entered[i].tensor()->value : nullptr;
  if (!held || !held.use_empty() || !llvm::is_contained(carried.variables, carried.names[i]))
    return false;
  carried.gone.push_back(carried.names[i]);
  into.push_back(held);
  return true;
}

static std::nullopt_t failCarried(Session &session, llvm::StringRef name, const Value &initial,
                                  const Value &value) {
  auto [before, after] = describeTypes(initial, value);
  session.fail(Kind::LoopCarriedMismatch, {name, before, after});
  explainConstants(session, Kind::LoopCarriedMismatch, initial, value);
  return std::nullopt;
}

// The carried names' values at the end of a region, in the types they started with.
std::optional<llvm::SmallVector<mlir::Value>> Visitor::collectCarried(Carried &carried) {
  llvm::SmallVector<mlir::Value> result;
  for (size_t i = 0; i < carried.names.size(); ++i) {
    const Local &local = frame->locals[carried.names[i]];
    if (local.state == Local::Broken)
      return std::nullopt;
    if (local.state != Local::Defined && letGo(carried, i, result))
      continue;
    if (local.state != Local::Defined) {
      auto kind = local.state == Local::LoopVariable ? Kind::LoopVariableGone : Kind::PartiallyDefined;
      return session.fail(kind, {carried.names[i], std::to_string(local.line)});
    }
    if (!collectLike(session, carried.initial[i], local.value, result) && !letGo(carried, i, result))
      return failCarried(session, carried.names[i], carried.initial[i], local.value);
  }
  return result;
}

// After a loop: carried names have its results; names that it only used are gone.
void Visitor::leaveLoop(Carried &carried, mlir::ValueRange results, uint32_t line) {
  restore(carried.assigned, carried.before);
  for (size_t i = 0; i < carried.assigned.size(); ++i) {
    const auto &before = carried.before[i];
    if (!before || (before->state != Local::Defined && before->state != Local::Broken))
      frame->locals[carried.assigned[i]] = Local{Local::InLoop, false, line, {}, {}};
  }
  for (llvm::StringRef name : carried.variables)
    frame->locals[name] = Local{Local::LoopVariable, false, line, {}, {}};
  bindCarried(carried, results);
  for (llvm::StringRef name : carried.gone)
    frame->locals[name] = Local{Local::LoopVariable, false, line, {}, {}};
}

} // namespace tegula::sema
