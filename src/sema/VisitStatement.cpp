// Statements: assignments, returns, and what a kernel may not say.
#include "sema/LibraryKinds.h"
#include "sema/Refusal.h"
#include "sema/Visitor.h"

namespace tegula::sema {

using diag::Kind;
using syntax::as;

// One step of the static budget: what bounds loops and recursion over constants.
bool Visitor::spend() {
  if (isExhausted)
    return false;
  if (++steps <= maxSteps && operations <= maxOperations)
    return true;
  isExhausted = true;
  bool isSteps = steps > maxSteps;
  session.fail(isSteps ? Kind::StaticBudget : Kind::OperationBudget,
               {std::to_string(isSteps ? maxSteps : maxOperations)});
  return false;
}

Flow Visitor::visitBlock(std::span<syntax::Stmt *const> statements, bool isOutermost) {
  for (size_t i = 0; i < statements.size(); ++i) {
    Rest rest{statements.subspan(i + 1)};
    mlir::OpBuilder::InsertPoint place = builder.saveInsertionPoint();
    Flow flow = visitStatement(statements[i], rest);
    if (flow == Flow::MayExit && !rest.isTaken) {
      flow = goOn(flow, *statements[i], rest.statements);
      rest.isTaken = true;
    }
    bool mayRecover = flow == Flow::Failed && isOutermost && !frame->caller && !regions;
    if (mayRecover && recover(statements[i])) {
      builder.restoreInsertionPoint(place);
      forgetExits();
      continue;
    }
    if (flow != Flow::Next || rest.isTaken)
      return flow;
  }
  return Flow::Next;
}

// The body of a function. Where some paths have returned, the others return None at the end.
Flow Visitor::runToEnd(std::span<syntax::Stmt *const> statements) {
  Flow flow = visitBlock(statements, /*isOutermost=*/true);
  auto returned = frame->locals.find(returnValue);
  bool isNone = returned != frame->locals.end() && returned->second.value.isNone();
  if (flow == Flow::Next)
    frame->returned = Value();
  if (flow == Flow::MayExit && !isNone)
    flow = goOn(flow, *frame->function.definition, {}, [&] {
      frame->locals[returnValue] = Local{Local::Defined, false, 0, {}, {}};
      return leave(exitReturn);
    });
  if (flow == Flow::Exits || flow == Flow::MayExit)
    frame->returned = frame->locals[returnValue].value;
  return flow == Flow::Failed ? flow : Flow::Exits;
}

// The kernel is lost; later statements are still visited for what they have to say. The
// names of the refused one stand for anything, silently, and where it may bind names that the
// tree does not show, so do names that nothing else binds.
bool Visitor::recover(const syntax::Stmt *node) {
  if (isExhausted)
    return false;
  BlockFacts facts = AssignedNames::of(node);
  for (llvm::StringRef name : facts.assigned) {
    Local &local = frame->locals[name];
    local = Local{};
    local.state = Local::Broken;
  }
  frame->mayBindMore |= facts.hasUnknown;
  return true;
}

Flow Visitor::visitStatement(const syntax::Stmt *node, Rest &rest) {
  diag::Range outer = session.place.range;
  session.place.range = node->range;
  Flow flow = Flow::Failed;
  if (++nesting > maxNesting) {
    isExhausted = true;
    session.fail(Kind::NestingTooDeep, {std::to_string(maxNesting)});
  } else if (spend()) {
    flow = dispatchStatement(node, rest);
  }
  --nesting;
  session.place.range = outer;
  return flow;
}

Flow Visitor::dispatchStatement(const syntax::Stmt *node, Rest &rest) {
  using syntax::NodeKind;
  auto next = [](bool isFine) { return isFine ? Flow::Next : Flow::Failed; };
  switch (node->kind) {
  case NodeKind::Assign: return next(visitAssign(*as<syntax::Assign>(node)));
  case NodeKind::AugAssign: return next(visitAugAssign(*as<syntax::AugAssign>(node)));
  case NodeKind::AnnAssign: return next(visitAnnAssign(*as<syntax::AnnAssign>(node)));
  case NodeKind::ExprStmt: {
    const syntax::Expr *value = as<syntax::ExprStmt>(node)->value;
    standsAlone = as<syntax::Call>(value);
    // A docstring may name characters that no other text can.
    auto *other = as<syntax::UnsupportedExpr>(value);
    bool isText = as<syntax::StringLiteral>(value) || (other && other->what == syntax::namedCharacters);
    return next(isText || as<syntax::EllipsisLiteral>(value) || visit(value));
  }
  case NodeKind::If: return visitIf(*as<syntax::If>(node), rest);
  case NodeKind::For: return visitFor(*as<syntax::For>(node));
  case NodeKind::While: return visitWhile(*as<syntax::While>(node));
  case NodeKind::Return: return visitReturn(*as<syntax::Return>(node));
  case NodeKind::Break: return leaveLoopBy(exitBreak);
  case NodeKind::Continue: return leaveLoopBy(exitContinue);
  case NodeKind::Assert: return next(visitAssert(*as<syntax::Assert>(node)));
  case NodeKind::Pass: return Flow::Next;
  default: return next(refuse(node));
  }
}

Flow Visitor::visitReturn(const syntax::Return &node) {
  auto value = node.value ? visit(node.value) : MaybeValue(Value());
  if (!value)
    return Flow::Failed;
  if (!frame->caller && !value->isNone()) {
    session.fail(Kind::ReturnValueInKernel);
    return Flow::Failed;
  }
  if (!isOfLibrary(frame->function))
    value = value->asScalars();
  frame->locals[returnValue] = Local{Local::Defined, false, lineOf(&node), std::move(*value), {}};
  return leave(exitReturn);
}

// A device assertion, which upstream drops unless debug is set: also of a constant that is false, since
// public kernels say so of cases that they can do without. `tl.static_assert` is for what must hold.
bool Visitor::visitAssert(const syntax::Assert &node) {
  auto test = visit(node.condition);
  if (!test)
    return false;
  if (test->constant() && isTrue(*test->constant()))
    return true;
  auto message = node.message ? visit(node.message) : MaybeValue(Value(Const{std::string()}));
  if (!message)
    return false;
  Value text = message->constant() ? Value(Const{str(*message->constant())}) : *message;
  Value arguments[] = {*test, text};
  return callBuiltin(session, "triton.language.device_assert", arguments, {}).has_value();
}

// ---- assignment -------------------------------------------------------------------------

bool Visitor::visitAssign(const syntax::Assign &node) {
  auto value = visit(node.value);
  if (!value)
    return false;
  return llvm::all_of(node.targets, [&](const syntax::Expr *target) { return assign(target, *value); });
}

bool Visitor::visitAugAssign(const syntax::AugAssign &node) {
  if (!as<syntax::Name>(node.target))
    return assign(node.target, Value());
  auto left = visit(node.target);
  auto right = left ? visit(node.value) : left;
  auto value = right ? binaryOf(node.op, *left, *right) : right;
  return value && assign(node.target, *value);
}

bool Visitor::visitAnnAssign(const syntax::AnnAssign &node) {
  auto *name = as<syntax::Name>(node.target);
  if (!name || !namesConstexpr(node.annotation)) {
    auto value = node.value ? visit(node.value) : MaybeValue();
    return !node.value || (value && assign(node.target, *value));
  }
  if (!node.value) {
    frame->locals[name->id] = Local{Local::Declared, true, lineOf(&node), {}, {}};
    return true;
  }
  auto value = visit(node.value);
  if (!value)
    return false;
  if (!value->constant()) // of a run-time value the annotation has no effect, as upstream
    return assign(node.target, *value);
  // The body of an unrolled loop stands in the text once and runs many times.
  auto known = frame->locals.find(name->id);
  bool isTaken = known != frame->locals.end() && known->second.state == Local::Defined && !frame->staticLoops;
  if (isTaken && !(known->second.isConstexpr && isSame(*known->second.value.constant(), *value->constant())))
    return session.fail(Kind::ConstexprReassigned, {name->id}), false;
  defineConstexpr(*name, *value);
  return true;
}

void Visitor::defineConstexpr(const syntax::Name &name, const Value &value) {
  Local &local = frame->locals[name.id] = Local{Local::Defined, true, lineOf(&name), value, {}};
  local.value.isScalar = false;
  local.loops = frame->runTimeLoops();
}

bool Visitor::assign(const syntax::Expr *target, const Value &value) {
  session.place.range = target->range;
  if (auto *name = as<syntax::Name>(target))
    return assignName(*name, value);
  auto *tuple = as<syntax::Tuple>(target);
  auto *list = as<syntax::List>(target);
  if (tuple || list) {
    const auto &targets = tuple ? tuple->elements : list->elements;
    auto elements = elementsOf(value);
    if (!elements)
      return session.fail(Kind::NotATuple, {describeType(value)}), false;
    if (llvm::any_of(targets, [](const syntax::Expr *each) { return as<syntax::Starred>(each); }))
      return unsupported("a starred target",
                         "unpack each element into a name, or take a slice: `rest = x[1:]`"),
             false;
    if (elements->size() != targets.size())
      return session.fail(Kind::UnpackCount,
                          {std::to_string(targets.size()), std::to_string(elements->size())}),
             false;
    for (size_t i = 0; i < targets.size(); ++i)
      if (!assign(targets[i], (*elements)[i]))
        return false;
    return true;
  }
  if (as<syntax::Subscript>(target))
    return unsupported("assignment to an element (`x[i] = ...`)",
                       "tiles are values: use tl.where(mask, new, x), or tl.store to memory"),
           false;
  if (auto *attribute = as<syntax::Attribute>(target))
    return assignField(*attribute, value);
  return unsupported("a starred target", "unpack each element into a name"), false;
}

// A field of the object that a constructor makes.
bool Visitor::assignField(const syntax::Attribute &target, const Value &value) {
  auto *name = as<syntax::Name>(target.object);
  const auto &parameters = frame->function.definition->parameters;
  if (!frame->isConstructor || !name || name->id != parameters.front().name)
    return unsupported("assignment to an attribute",
                       "use a local name; only __init__ of an aggregate sets fields"),
           false;
  auto object = visit(name);
  auto fields = object ? partsOf(*object) : std::nullopt;
  if (!fields || !fields->type)
    return object ? (unsupported("assignment to an attribute", "use a local name"), false) : false;
  size_t index = fields->type->find(target.attribute);
  if (index == fields->size())
    return session.fail(Kind::NoSuchAttribute, {describeType(*object), target.attribute}), false;
  (*fields)[index] = value;
  frame->locals[name->id].value = Value(std::make_shared<ValueTuple>(std::move(*fields)));
  return true;
}

// A plain number becomes a run-time scalar, as upstream has it, and those of a tuple promote as such; types,
// strings, functions and None stay what they are. So does the name of a constant that is assigned again
// without an annotation, but in a run-time loop around which it was constant.
bool Visitor::assignName(const syntax::Name &name, const Value &value) {
  auto known = frame->locals.find(name.id);
  bool isConstexpr = known != frame->locals.end() && known->second.isConstexpr;
  if (isConstexpr && known->second.state == Local::Declared) {
    if (!value.constant())
      return session.fail(Kind::ConstexprNeeded, {"`" + name.id + "`", describeType(value)}), false;
    defineConstexpr(name, value);
    return true;
  }
  if (isConstexpr && known->second.state == Local::Defined && known->second.loops < frame->runTimeLoops())
    return session.fail(Kind::ConstexprReassigned, {name.id}), false;
  Local local{Local::Defined, false, lineOf(&name), value, {}};
  if (auto *constant = value.constant(); constant && isNumber(*constant)) {
    auto tensor = toTensor(session, value);
    if (!tensor)
      return false;
    local.number = *constant;
    local.value = *tensor;
  } else {
    local.value = value.asScalars();
  }
  frame->locals[name.id] = std::move(local);
  return true;
}

// ---- what a kernel may not say ----------------------------------------------------------

bool Visitor::refuse(const syntax::Stmt *node) {
  if (std::optional<Refusal> refusal = refusalOf(node))
    return unsupported(refusal->what, refusal->instead), false;
  isExhausted = true; // InvalidStmt: the parser has reported it
  return false;
}

} // namespace tegula::sema
