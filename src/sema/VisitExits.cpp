// The one model of early exits. `return`, `break` and `continue` set a flag, which is a name that no kernel
// can have; branches merge it and loops hand it on as any other name. Where it is known when compiling, what
// follows is dead and not visited. Where it is a run-time value, what follows in the block, and in the blocks
// around it up to the place that the exit leads to, stands in a branch that runs while no flag is set. So
// tile IR has scf.if, scf.for and scf.while only, and no pass knows of exits.
#include "sema/Visitor.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace tegula::sema {

using diag::Kind;

// Do all paths of the flow that has come here leave by `exit`?
bool Visitor::isAlways(llvm::StringRef exit) const {
  auto found = frame->locals.find(exit);
  auto *constant = found == frame->locals.end() ? nullptr : found->second.value.constant();
  return constant && isTrue(*constant);
}

// All paths that come here leave.
Flow Visitor::leave(llvm::StringRef exit) {
  frame->locals[exit] = Local{Local::Defined, false, 0, Value(Const{true}), {}};
  return Flow::Exits;
}

Flow Visitor::leaveLoopBy(llvm::StringRef exit) {
  if (frame->loops)
    return leave(exit);
  session.fail(Kind::LoopExitOutsideLoop, {exit});
  return Flow::Failed;
}

// Paths that left by `exit` meet the others here. What only the others have given a value has none now.
void Visitor::forget(llvm::StringRef exit) {
  if (!frame->locals.erase(exit))
    return;
  for (auto &entry : frame->locals)
    if (Local &local = entry.second; local.isOfPathsThatGoOn)
      local = Local{Local::OneBranch, false, local.line, {}, {}};
}

void Visitor::forgetExits() {
  for (llvm::StringRef exit : {exitReturn, exitBreak, exitContinue})
    frame->locals.erase(exit);
}

mlir::Value Visitor::negate(mlir::Value flag) {
  mlir::Value one = literal(session, Const{true}, DType::I1).value;
  return builder.createOrFold<mlir::arith::XOrIOp>(session.loc(), flag, one);
}

// Has a path left by one of these? Null: none has.
mlir::Value Visitor::exitFlag(llvm::ArrayRef<llvm::StringRef> exits) {
  mlir::Value any;
  for (llvm::StringRef exit : exits) {
    auto found = frame->locals.find(exit);
    if (found == frame->locals.end())
      continue;
    mlir::Value flag = toTensor(session, found->second.value)->value;
    any = any ? builder.createOrFold<mlir::arith::OrIOp>(session.loc(), any, flag) : flag;
  }
  return any;
}

mlir::Value zeroOf(Session &session, const Type &type) {
  Tensor zero = literal(session, makeInt(0), type.pointer ? DType::I64 : type.element);
  if (type.pointer) {
    Value to(Const{TypeRef{type.element, true, type.isConst, {}}});
    auto pointer = callMethod(session, Value(zero), "to", {&to, 1}, {});
    if (!pointer)
      return nullptr;
    zero = *pointer->tensor();
  }
  auto spread = type.isScalar() ? std::optional(zero) : broadcastTo(session, zero, type.shape);
  return spread ? spread->value : nullptr;
}

// Runs `rest` on the paths that have not left after something that ended with `flow`.
Flow Visitor::goOn(Flow flow, const syntax::Node &place, NameList changed, VisitSide rest) {
  if (flow == Flow::Next)
    return rest();
  if (flow != Flow::MayExit)
    return flow;
  mlir::Value hasLeft = exitFlag({exitReturn, exitBreak, exitContinue});
  Rest none;
  return visitBranches(
      place, negate(hasLeft), std::move(changed),
      [&] {
        forgetExits();
        return rest();
      },
      [] { return Flow::Exits; }, none);
}

Flow Visitor::goOn(Flow flow, const syntax::Node &place, std::span<syntax::Stmt *const> rest) {
  if (flow != Flow::MayExit || rest.empty())
    return flow == Flow::Next ? visitBlock(rest) : flow;
  BlockFacts facts = AssignedNames::of(rest);
  NameList changed = facts.assigned;
  changed.append(facts.loopVariables.begin(), facts.loopVariables.end());
  return goOn(flow, place, std::move(changed), [&] { return visitBlock(rest); });
}

} // namespace tegula::sema
