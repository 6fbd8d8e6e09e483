// Branches. A constant condition keeps one branch and never looks at the other. A run-time
// condition becomes scf.if (VisitBranches.cpp).
#include "sema/Visitor.h"

#include "ir/tile/Tile.h"
#include "llvm/ADT/STLExtras.h"

namespace tegula::sema {

using diag::Kind;

// A scalar, or a tile of one element, compared with zero; a pointer with null, as upstream does.
std::optional<Visitor::Condition> Visitor::condition(const Value &value) {
  if (isAggregate(value)) {
    auto truth = truthOfAggregate(value);
    return truth ? condition(*truth) : std::nullopt;
  }
  if (auto *constant = value.constant())
    return Condition{isTrue(*constant), nullptr};
  if (auto *tuple = value.tuple())
    return Condition{!tuple->empty(), nullptr};
  if (value.record()) // an object of Python's: true
    return Condition{true, nullptr};
  Tensor tensor = *value.tensor();
  if (!tensor.type.isScalar()) {
    for (int64_t extent : tensor.type.shape)
      if (extent != 1)
        return session.fail(Kind::AmbiguousCondition, {spelling(tensor.type)});
    auto scalar = tensor.type.scalar();
    tensor = {
        tile::UnsplatOp::create(builder, session.loc(), lower(scalar, builder.getContext()), tensor.value),
        scalar};
  }
  auto flag = cast(session, tensor, DType::I1);
  return flag ? std::optional(Condition{std::nullopt, flag->value}) : std::nullopt;
}

Flow Visitor::visitIf(const syntax::If &node, Rest &rest) {
  auto test = visit(node.condition);
  if (!test)
    return Flow::Failed;
  session.place.range = node.condition->range;
  auto decided = condition(*test);
  if (!decided)
    return Flow::Failed;
  if (decided->constant)
    return visitBlock(*decided->constant ? node.body : node.orelse);
  session.place.range = node.range;
  return visitRunTimeIf(node, decided->runTime, rest);
}

Flow Visitor::visitRunTimeIf(const syntax::If &node, mlir::Value condition, Rest &rest) {
  BlockFacts thenFacts = names.of(node.body), elseFacts = names.of(node.orelse), restFacts;
  // A side that leaves hands what follows to the other one.
  Rest none;
  bool mayLeave = thenFacts.hasExit() || elseFacts.hasExit();
  if (mayLeave)
    restFacts = AssignedNames::of(rest.statements);
  NameList changed = thenFacts.assigned;
  for (const auto &more : {llvm::ArrayRef<llvm::StringRef>(elseFacts.assigned),
                           llvm::ArrayRef<llvm::StringRef>(restFacts.assigned),
                           llvm::ArrayRef<llvm::StringRef>(thenFacts.loopVariables),
                           llvm::ArrayRef<llvm::StringRef>(elseFacts.loopVariables),
                           llvm::ArrayRef<llvm::StringRef>(restFacts.loopVariables)})
    for (llvm::StringRef name : more)
      if (!llvm::is_contained(changed, name))
        changed.push_back(name);
  return visitBranches(
      node, condition, std::move(changed), [&] { return visitBlock(node.body); },
      [&] { return visitBlock(node.orelse); }, mayLeave ? rest : none);
}

} // namespace tegula::sema
