// Branches. A constant condition keeps one branch and never looks at the other. A run-time
// condition becomes scf.if: names that differ after the branches become its results, and a
// branch that returns takes the rest of the function into the other branch.
#include "sema/Visitor.h"

#include "ir/tile/Tile.h"
#include "llvm/ADT/ScopeExit.h"

namespace tegula::sema {

using diag::Kind;
using syntax::as;

namespace {

// Two values of one name at the ends of two branches, brought to one shape. Leaves that
// differ become results of the op, in order; in the merged value they stand as tensors
// without an SSA value until `fill` gives them one.
class BranchMerge {
public:
  BranchMerge(Session &session, mlir::Block *thenBlock, mlir::Block *elseBlock)
      : session_(session), thenBlock_(thenBlock), elseBlock_(elseBlock) {}

  llvm::SmallVector<mlir::Value> thenYields, elseYields;

  // nullopt: the types differ (nothing is reported).
  std::optional<Value> merge(const Value &a, const Value &b) {
    if (a.constant() && b.constant() && isSame(*a.constant(), *b.constant()))
      return a;
    if (a.tensor() && b.tensor() && a.tensor()->value == b.tensor()->value)
      return a;
    if (a.record() && b.record() && a.record()->type == b.record()->type)
      if (auto fields = mergeAll(a.record()->fields, b.record()->fields))
        return a.withParts(std::move(*fields));
    if (a.record() || b.record())
      return std::nullopt;
    auto leftElements = elementsOf(a), rightElements = elementsOf(b);
    if (leftElements && rightElements && leftElements->size() == rightElements->size()) {
      auto merged = mergeAll(*leftElements, *rightElements);
      return merged ? std::optional(Value(std::make_shared<ValueTuple>(std::move(*merged)))) : std::nullopt;
    }
    auto left = leaf(a, thenBlock_), right = leaf(b, elseBlock_);
    if (!left || !right || left->type != right->type)
      return std::nullopt;
    thenYields.push_back(left->value);
    elseYields.push_back(right->value);
    return Value(Tensor{nullptr, left->type});
  }

  static void fill(Value &value, mlir::ValueRange &results) {
    if (auto *tensor = std::get_if<Tensor>(&value.value); tensor && !tensor->value) {
      tensor->value = results.front();
      results = results.drop_front();
    }
    if (auto *parts = value.parts()) {
      ValueTuple filled = *parts;
      for (Value &part : filled)
        fill(part, results);
      value = value.withParts(std::move(filled));
    }
  }

private:
  std::optional<ValueTuple> mergeAll(const ValueTuple &left, const ValueTuple &right) {
    ValueTuple merged;
    for (size_t i = 0; i < left.size(); ++i) {
      auto element = merge(left[i], right[i]);
      if (!element)
        return std::nullopt;
      merged.push_back(std::move(*element));
    }
    return merged;
  }

  std::optional<Tensor> leaf(const Value &value, mlir::Block *block) {
    if (auto *tensor = value.tensor())
      return *tensor;
    if (!value.constant() || !isNumber(*value.constant()))
      return std::nullopt;
    session_.builder.setInsertionPointToEnd(block);
    return toTensor(session_, value);
  }

  Session &session_;
  mlir::Block *thenBlock_, *elseBlock_;
};

// Ends both blocks and gives the op the results that they yield.
mlir::scf::IfOp finish(Session &session, mlir::scf::IfOp op, const BranchMerge &merge) {
  mlir::OpBuilder &builder = session.builder;
  builder.setInsertionPointToEnd(op.thenBlock());
  mlir::scf::YieldOp::create(builder, session.loc(), merge.thenYields);
  builder.setInsertionPointToEnd(op.elseBlock());
  mlir::scf::YieldOp::create(builder, session.loc(), merge.elseYields);
  builder.setInsertionPointAfter(op);
  if (merge.thenYields.empty())
    return op;
  llvm::SmallVector<mlir::Type> types;
  for (mlir::Value value : merge.thenYields)
    types.push_back(value.getType());
  auto typed = mlir::scf::IfOp::create(builder, op.getLoc(), types, op.getCondition(), false, false);
  typed.getThenRegion().takeBody(op.getThenRegion());
  typed.getElseRegion().takeBody(op.getElseRegion());
  op.erase();
  return typed;
}

} // namespace

// A scalar, or a tile of one element, compared with zero.
std::optional<Visitor::Condition> Visitor::condition(const Value &value) {
  if (auto *constant = value.constant())
    return Condition{isTrue(*constant), nullptr};
  if (auto *tuple = value.tuple())
    return Condition{!tuple->empty(), nullptr};
  if (value.record()) // an object of Python's: true
    return Condition{true, nullptr};
  Tensor tensor = *value.tensor();
  if (tensor.type.pointer)
    return session.fail(Kind::ConditionType, {spelling(tensor.type)});
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

Flow Visitor::visitIf(const syntax::If &node, const Rest &rest) {
  auto test = visit(node.condition);
  if (!test)
    return Flow::Failed;
  session.place.range = node.condition->range;
  auto decided = condition(*test);
  if (!decided)
    return Flow::Failed;
  if (decided->constant)
    return visitBlock(*decided->constant ? node.body : node.orelse, &rest);
  session.place.range = node.range;
  return visitRunTimeIf(node, decided->runTime, rest);
}

std::vector<std::optional<Local>> Visitor::save(llvm::ArrayRef<llvm::StringRef> saved) {
  std::vector<std::optional<Local>> result;
  for (llvm::StringRef name : saved) {
    auto found = frame->locals.find(name);
    result.push_back(found == frame->locals.end() ? std::nullopt : std::optional(found->second));
  }
  return result;
}

void Visitor::restore(llvm::ArrayRef<llvm::StringRef> saved,
                      const std::vector<std::optional<Local>> &values) {
  for (size_t i = 0; i < saved.size(); ++i) {
    if (values[i])
      frame->locals[saved[i]] = *values[i];
    else
      frame->locals.erase(saved[i]);
  }
}

Flow Visitor::visitRunTimeIf(const syntax::If &node, mlir::Value condition, const Rest &rest) {
  if (regions >= maxRegions) {
    isExhausted = true;
    session.fail(Kind::NestingTooDeep, {std::to_string(maxRegions)});
    return Flow::Failed;
  }
  BlockFacts thenFacts = names.of(node.body), elseFacts = names.of(node.orelse);
  bool takesRest = (thenFacts.hasReturn || elseFacts.hasReturn) && !frame->noReturn && !frame->staticLoops;
  llvm::SmallVector<llvm::StringRef, 8> changed = thenFacts.assigned;
  for (const auto &more : {llvm::ArrayRef<llvm::StringRef>(elseFacts.assigned),
                           llvm::ArrayRef<llvm::StringRef>(thenFacts.loopVariables),
                           llvm::ArrayRef<llvm::StringRef>(elseFacts.loopVariables)})
    for (llvm::StringRef name : more)
      if (!llvm::is_contained(changed, name))
        changed.push_back(name);

  diag::Range place = node.range;
  auto op = mlir::scf::IfOp::create(builder, session.loc(), mlir::TypeRange{}, condition, true, true);
  mlir::OpBuilder::InsertPoint after = builder.saveInsertionPoint();
  ++regions;
  frame->noReturn += !takesRest;
  llvm::StringMap<Local> all;
  if (takesRest)
    all = frame->locals;
  auto before = save(changed);
  auto visitSide = [&](const syntax::Block &block, mlir::Block *into) {
    builder.setInsertionPointToEnd(into);
    return takesRest ? runToEnd(block, &rest) : visitBlock(block, nullptr);
  };
  Flow thenFlow = visitSide(node.body, op.thenBlock());
  auto afterThen = save(changed);
  auto thenReturned = std::move(frame->returned);
  frame->returned.reset();
  if (takesRest)
    frame->locals = std::move(all);
  restore(changed, before);
  Flow elseFlow = thenFlow == Flow::Failed ? Flow::Failed : visitSide(node.orelse, op.elseBlock());
  auto afterElse = save(changed);
  restore(changed, before);
  frame->noReturn -= !takesRest;
  --regions;
  session.place.range = place;
  builder.restoreInsertionPoint(after);
  if (elseFlow == Flow::Failed)
    return Flow::Failed;
  if (takesRest)
    return mergeReturns(op, *thenReturned, *frame->returned) ? Flow::Returned : Flow::Failed;
  bool isMerged =
      mergeBranches(op, node, changed, std::move(before), std::move(afterThen), std::move(afterElse));
  return isMerged ? Flow::Next : Flow::Failed;
}

bool Visitor::mergeBranches(mlir::scf::IfOp op, const syntax::If &node,
                            llvm::ArrayRef<llvm::StringRef> changed, std::vector<std::optional<Local>> before,
                            std::vector<std::optional<Local>> afterThen,
                            std::vector<std::optional<Local>> afterElse) {
  auto isDefined = [](const std::optional<Local> &local) { return local && local->state == Local::Defined; };
  auto isBroken = [](const std::optional<Local> &local) { return local && local->state == Local::Broken; };
  BranchMerge merge(session, op.thenBlock(), op.elseBlock());
  for (size_t i = 0; i < changed.size(); ++i) {
    std::optional<Local> &then = afterThen[i], &orelse = afterElse[i];
    if (!isDefined(then) || !isDefined(orelse)) {
      if (isBroken(then) || isBroken(orelse))
        then = Local{Local::Broken, false, lineOf(&node), {}, {}};
      else if (isDefined(then) || isDefined(orelse))
        then = Local{Local::OneBranch, false, lineOf(&node), {}, {}};
      continue;
    }
    auto merged = merge.merge(then->value, orelse->value);
    if (!merged) {
      std::string thenType = describeType(then->value), elseType = describeType(orelse->value);
      std::string initial = isDefined(before[i]) ? describeType(before[i]->value) : "";
      if (initial == elseType)
        return session.fail(Kind::MergeInitialMismatch, {changed[i], initial, "then", thenType}), false;
      if (initial == thenType)
        return session.fail(Kind::MergeInitialMismatch, {changed[i], initial, "else", elseType}), false;
      return session.fail(Kind::MergeMismatch, {changed[i], thenType, elseType}), false;
    }
    then->isConstexpr &= orelse->isConstexpr && merged->constant();
    if (!then->number)
      then->number = orelse->number;
    then->value = std::move(*merged);
  }
  mlir::ValueRange results = finish(session, op, merge).getResults();
  for (size_t i = 0; i < changed.size(); ++i) {
    if (isDefined(afterThen[i]))
      BranchMerge::fill(afterThen[i]->value, results);
  }
  restore(changed, afterThen);
  return true;
}

bool Visitor::mergeReturns(mlir::scf::IfOp op, Value thenValue, Value elseValue) {
  BranchMerge merge(session, op.thenBlock(), op.elseBlock());
  auto merged = merge.merge(thenValue, elseValue);
  if (!merged) {
    session.fail(Kind::ReturnMismatch,
                 {frame->function.definition->name, describeType(thenValue), describeType(elseValue)});
    return false;
  }
  mlir::ValueRange results = finish(session, op, merge).getResults();
  BranchMerge::fill(*merged, results);
  frame->returned = std::move(*merged);
  return true;
}

} // namespace tegula::sema
