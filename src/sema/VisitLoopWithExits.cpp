// Loops that a `break` or a `return` may leave, as scf.while. It carries whether there is another trip before
// all else, and behind all else what a return gives. A loop whose exits are dead code is none of these.
#include "sema/LoopParts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/ADT/STLExtras.h"

namespace tegula::sema {

using diag::Kind;
using syntax::as;

bool Visitor::leavesEarly(const syntax::Block &body, const Carried &carried, const syntax::Name *variable) {
  const BlockFacts &facts = names.of(body);
  if (!facts.hasBreak && !facts.hasReturn)
    return false;
  BlockFacts live = liveFacts(body, carried.assigned, variable);
  return live.hasBreak || live.hasReturn;
}

// The op is made without what a return gives, whose types only the body says, and is made anew with it.
static mlir::scf::WhileOp widen(mlir::OpBuilder &builder, mlir::scf::WhileOp op, mlir::ValueRange initial) {
  if (initial.empty())
    return op;
  llvm::SmallVector<mlir::Type> types(op->getResultTypes());
  llvm::SmallVector<mlir::Value> operands(op->getOperands());
  llvm::append_range(types, initial.getTypes());
  operands.append(initial.begin(), initial.end());
  builder.setInsertionPoint(op);
  auto wide = mlir::scf::WhileOp::create(builder, op.getLoc(), types, operands);
  wide.getBefore().takeBody(op.getBefore());
  wide.getAfter().takeBody(op.getAfter());
  for (mlir::Value value : initial) {
    wide.getBeforeBody()->addArgument(value.getType(), op.getLoc());
    wide.getAfterBody()->addArgument(value.getType(), op.getLoc());
  }
  mlir::scf::ConditionOp head = wide.getConditionOp();
  head.getArgsMutable().assign(wide.getBeforeArguments());
  op.erase();
  return wide;
}

// False, and zeros for what a return gives: no return has run before the loop.
static bool zerosOf(Session &session, const Value &value, llvm::SmallVectorImpl<mlir::Value> &into) {
  if (auto *tensor = value.tensor()) {
    into.push_back(zeroOf(session, tensor->type));
    return into.back() != nullptr;
  }
  auto *tuple = value.parts();
  return !tuple ||
         llvm::all_of(*tuple, [&](const Value &element) { return zerosOf(session, element, into); });
}

// `own` are the operands in front of the carried names', of which the first says whether there is a trip;
// `body` visits a trip, and `advance` gives those of the next one.
struct Visitor::ExitLoop {
  Carried &carried;
  Values own;
  llvm::function_ref<Flow(mlir::ValueRange)> body;
  llvm::function_ref<Values(mlir::ValueRange)> advance;
  bool breaks = false; // set: some path leaves by `break`
};

// The operands of the next trip; nullopt: reported.
std::optional<Visitor::Values> Visitor::visitTripWithExits(const syntax::Stmt &node, ExitLoop &loop,
                                                           mlir::ValueRange arguments) {
  mlir::ValueRange own = arguments.take_front(loop.own.size());
  bindCarried(loop.carried, arguments.drop_front(loop.own.size()));
  ++regions, ++frame->loops;
  Flow flow = loop.body(own);
  --regions, --frame->loops;
  session.place.range = node.range;
  if (flow == Flow::Failed)
    return std::nullopt;
  forget(exitContinue);
  Values next = loop.advance(own);
  if (mlir::Value hasLeft = exitFlag({exitBreak, exitReturn}))
    next.front() = builder.createOrFold<mlir::arith::AndIOp>(session.loc(), next.front(), negate(hasLeft));
  auto carried = collectCarried(loop.carried);
  if (!carried)
    return std::nullopt;
  next.append(*carried);
  return next;
}

Flow Visitor::visitLoopWithExits(const syntax::Stmt &node, ExitLoop &loop) {
  if (regions >= maxRegions) {
    isExhausted = true;
    return session.fail(Kind::NestingTooDeep, {std::to_string(maxRegions)}), Flow::Failed;
  }
  mlir::Location loc = session.loc();
  Values operands = loop.own;
  operands.append(loop.carried.operands);
  llvm::SmallVector<mlir::Type> types(mlir::ValueRange(operands).getTypes());
  llvm::SmallVector<mlir::Location> locations(types.size(), loc);
  auto op = mlir::scf::WhileOp::create(builder, loc, types, operands);
  mlir::Block *before = builder.createBlock(&op.getBefore(), {}, types, locations);
  mlir::scf::ConditionOp::create(builder, loc, before->getArgument(0), before->getArguments());
  mlir::Block *trip = builder.createBlock(&op.getAfter(), {}, types, locations);

  auto next = visitTripWithExits(node, loop, trip->getArguments());
  bool mayReturn = next && hasExit(exitReturn);
  loop.breaks = hasExit(exitBreak);
  Value value;
  Values initial;
  if (mayReturn) {
    value = frame->locals[returnValue].value;
    next->push_back(exitFlag({exitReturn}));
    leaves(value, *next);
  }
  if (next)
    mlir::scf::YieldOp::create(builder, loc, *next);
  builder.setInsertionPoint(op);
  if (mayReturn) {
    initial.push_back(literal(session, Const{false}, DType::I1).value);
    if (!zerosOf(session, value, initial))
      next.reset();
  }
  if (next)
    op = widen(builder, op, initial);
  builder.setInsertionPointAfter(op);
  mlir::ValueRange results = op.getResults();
  std::copy_n(results.begin(), loop.own.size(), loop.own.begin());
  results = results.drop_front(loop.own.size());
  forgetExits();
  leaveLoop(loop.carried, results.take_front(loop.carried.operands.size()), lineOf(&node));
  if (!next || !mayReturn)
    return next ? Flow::Next : Flow::Failed;
  results = results.drop_front(loop.carried.operands.size());
  frame->locals[exitReturn] =
      Local{Local::Defined, false, 0, Value(Tensor{results.front(), Type{DType::I1}}), {}};
  results = results.drop_front();
  frame->locals[returnValue] = Local{Local::Defined, false, 0, rebuild(value, results), {}};
  return Flow::MayExit;
}

// Own operands: whether there is a trip, its index, and the value of the variable behind the loop. An index
// past the end of the type is not computed with: the distance to the end is unsigned.
Flow Visitor::visitForWithExits(const syntax::For &node, const RunTimeRange &range, Carried &carried,
                                const std::optional<Local> &outer) {
  namespace arith = mlir::arith;
  mlir::Location loc = session.loc();
  const Type &type = range.lower.type;
  mlir::Value lower = range.lower.value, upper = range.upper.value, step = range.step.value;
  llvm::StringRef name = as<syntax::Name>(node.target)->id;
  auto variableAt = [&](mlir::Value index) {
    if (!range.isReversed)
      return index;
    mlir::Value sum = builder.createOrFold<arith::AddIOp>(loc, lower, upper);
    return builder.createOrFold<arith::SubIOp>(loc, sum, index);
  };
  mlir::Value variable;
  auto body = [&](mlir::ValueRange own) {
    variable = variableAt(own[1]);
    frame->locals[name] = Local{Local::Defined, false, lineOf(&node), Value(Tensor{variable, type}), {}};
    return visitBlock(node.body);
  };
  auto advance = [&](mlir::ValueRange own) {
    mlir::Value distance = builder.createOrFold<arith::SubIOp>(loc, upper, own[1]);
    return Values{builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::ugt, distance, step),
                  builder.createOrFold<arith::AddIOp>(loc, own[1], step), variable};
  };
  bool isKnown = valueWithoutTrip(outer, startOf(range)) != nullptr;
  ExitLoop loop{carried, {hasTripOf(range), lower, variableWithoutTrip(range, outer).value}, body, advance};
  Flow flow = visitLoopWithExits(node, loop);
  if (flow != Flow::Failed && !keepAssignedVariable(node, range, outer))
    bindLoopVariable(node, {loop.own[2], type}, isKnown);
  return flow;
}

// `while c: ...` as `while True: if not c: break; ...`, so that `c` is not asked once more behind an exit.
Flow Visitor::visitWhileWithExits(const syntax::While &node, Carried &carried) {
  mlir::Value yes = literal(session, Const{true}, DType::I1).value;
  bool isEndless = false;
  auto body = [&](mlir::ValueRange) {
    auto test = visit(node.condition);
    session.place.range = node.condition->range;
    auto decided = test ? condition(*test) : std::nullopt;
    session.place.range = node.range;
    if (!decided)
      return Flow::Failed;
    isEndless = decided->constant && *decided->constant;
    if (isEndless)
      return visitBlock(node.body);
    if (decided->constant)
      return leave(exitBreak);
    Tensor ends{negate(decided->runTime), Type{DType::I1}};
    frame->locals[exitBreak] = Local{Local::Defined, false, 0, Value(ends), {}};
    return goOn(Flow::MayExit, node, node.body);
  };
  auto advance = [&](mlir::ValueRange) { return Values{literal(session, Const{true}, DType::I1).value}; };
  ExitLoop loop{carried, {yes}, body, advance};
  Flow flow = visitLoopWithExits(node, loop);
  if (flow == Flow::Failed || !isEndless || loop.breaks)
    return flow;
  if (flow == Flow::MayExit)
    return Flow::Exits; // by `return` only
  session.fail(Kind::LoopNeverEnds);
  return Flow::Failed;
}

} // namespace tegula::sema
