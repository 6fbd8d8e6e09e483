// Two sides of a run-time condition as one scf.if. Names that differ after the sides become its results.
// Where one side has left, the other one alone says what goes on.
#include "sema/Visitor.h"

#include "llvm/ADT/STLExtras.h"

namespace tegula::sema {

using diag::Kind;

namespace {

// Two values of one name at the ends of two sides, brought to one shape. Leaves that
// differ become results of the op, in order; in the merged value they stand as tensors
// without an SSA value until `fill` gives them one.
class BranchMerge {
public:
  BranchMerge(Session &session, mlir::scf::IfOp op) : session_(session), op_(op) {}

  llvm::SmallVector<mlir::Value> thenYields, elseYields;

  // nullopt: the types differ (nothing is reported).
  std::optional<Value> merge(const Value &a, const Value &b) {
    size_t count = thenYields.size();
    auto merged = mergeParts(a, b);
    if (!merged) {
      thenYields.resize(count);
      elseYields.resize(count);
    }
    return merged;
  }

  // The value of one side, where the other one has left and may hold anything. nullopt: reported.
  std::optional<Value> adopt(const Value &value, bool isThen) {
    if (auto *tensor = value.tensor()) {
      mlir::Value held = tensor->value;
      mlir::Operation *owner = held.getParentBlock()->getParentOp();
      if (!op_->isAncestor(owner))
        return value;
      session_.builder.setInsertionPointToEnd(isThen ? op_.elseBlock() : op_.thenBlock());
      mlir::Value zero = zeroOf(session_, tensor->type);
      if (!zero)
        return std::nullopt;
      thenYields.push_back(isThen ? tensor->value : zero);
      elseYields.push_back(isThen ? zero : tensor->value);
      return Value(Tensor{nullptr, tensor->type});
    }
    if (!value.parts())
      return value;
    ValueTuple adopted = *value.parts();
    for (Value &element : adopted) {
      auto part = adopt(element, isThen);
      if (!part)
        return part;
      element = std::move(*part);
    }
    return value.withParts(std::move(adopted));
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
  std::optional<Value> mergeParts(const Value &a, const Value &b) {
    if (a.constant() && b.constant() && isSame(*a.constant(), *b.constant()))
      return a;
    if (a.tensor() && b.tensor() && a.tensor()->value == b.tensor()->value)
      return a;
    if (a.record() && b.record() && a.record()->type == b.record()->type)
      if (auto fields = mergeAll(a.record()->fields, b.record()->fields))
        return a.withParts(std::move(*fields));
    if (a.record() || b.record())
      return std::nullopt;
    auto left = partsOf(a), right = partsOf(b);
    if (left && right && left->size() == right->size() && isSameClass(left->type, right->type)) {
      auto merged = mergeAll(*left, *right);
      return merged ? std::optional(Value(std::make_shared<ValueTuple>(std::move(*merged)))) : std::nullopt;
    }
    auto first = leaf(a, op_.thenBlock()), second = leaf(b, op_.elseBlock());
    if (!first || !second || first->type != second->type)
      return std::nullopt;
    thenYields.push_back(first->value);
    elseYields.push_back(second->value);
    return Value(Tensor{nullptr, first->type});
  }

  std::optional<ValueTuple> mergeAll(const ValueTuple &left, const ValueTuple &right) {
    ValueTuple merged;
    merged.type = left.type;
    for (size_t i = 0; i < left.size(); ++i) {
      auto element = mergeParts(left[i], right[i]);
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
  mlir::scf::IfOp op_;
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

bool isDefined(const std::optional<Local> &local) { return local && local->state == Local::Defined; }
bool isBroken(const std::optional<Local> &local) { return local && local->state == Local::Broken; }

} // namespace

// The names that the sides may have changed: what they were before, and what each side made of them.
struct Visitor::Sides {
  NameList names;
  std::vector<std::optional<Local>> before, then, orelse;
  Flow thenFlow = Flow::Next, elseFlow = Flow::Next;

  bool hasLeftLoop(bool isThen) const {
    for (size_t i = 0; i < names.size(); ++i)
      if ((names[i] == exitBreak || names[i] == exitContinue) && (isThen ? then : orelse)[i])
        return true;
    return false;
  }
  Flow flow() const {
    if (thenFlow == Flow::Failed || elseFlow == Flow::Failed)
      return Flow::Failed;
    return thenFlow == elseFlow ? thenFlow : Flow::MayExit;
  }
};

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

Flow Visitor::visitBranches(const syntax::Node &place, mlir::Value condition, NameList changed,
                            VisitSide then, VisitSide orelse, Rest &rest) {
  if (regions >= maxRegions) {
    isExhausted = true;
    session.fail(Kind::NestingTooDeep, {std::to_string(maxRegions)});
    return Flow::Failed;
  }
  changed.append({exitReturn, exitBreak, exitContinue, returnValue});
  auto op = mlir::scf::IfOp::create(builder, session.loc(), mlir::TypeRange{}, condition, true, true);
  mlir::OpBuilder::InsertPoint after = builder.saveInsertionPoint();
  ++regions;
  Sides sides{changed, save(changed), {}, {}, Flow::Next, Flow::Failed};
  builder.setInsertionPointToEnd(op.thenBlock());
  sides.thenFlow = then();
  sides.then = save(changed);
  restore(changed, sides.before);
  if (sides.thenFlow != Flow::Failed) {
    builder.setInsertionPointToEnd(op.elseBlock());
    sides.elseFlow = orelse();
  }
  bool thenLeaves = sides.thenFlow == Flow::Exits, elseLeaves = sides.elseFlow == Flow::Exits;
  rest.isTaken = sides.flow() != Flow::Failed && thenLeaves != elseLeaves && !rest.statements.empty();
  if (rest.isTaken && thenLeaves)
    sides.elseFlow = goOn(sides.elseFlow, place, rest.statements);
  sides.orelse = save(changed);
  if (rest.isTaken && elseLeaves) {
    restore(changed, sides.then);
    builder.setInsertionPointToEnd(op.thenBlock());
    sides.thenFlow = goOn(sides.thenFlow, place, rest.statements);
    sides.then = save(changed);
  }
  restore(changed, sides.before);
  --regions;
  session.place.range = place.range;
  builder.restoreInsertionPoint(after);
  if (sides.flow() == Flow::Failed)
    return Flow::Failed;
  return mergeSides(op, place, sides) ? sides.flow() : Flow::Failed;
}

// The names of both sides, one after another, into what they are behind the op.
struct Visitor::SideMerge {
  Visitor &visitor;
  Sides &sides;
  const syntax::Node &place;
  BranchMerge merge;
  std::vector<std::optional<Local>> merged = sides.before;

  // False: reported. A name of the sides, by its place among them.
  bool name(size_t i) {
    bool thenLeaves = sides.thenFlow == Flow::Exits, elseLeaves = sides.elseFlow == Flow::Exits;
    llvm::StringRef name = sides.names[i];
    if (name == returnValue)
      return returned(i);
    if (name == exitReturn || name == exitBreak || name == exitContinue)
      return flag(i);
    if (thenLeaves != elseLeaves)
      return ofOneSide(i, elseLeaves);
    return thenLeaves ? ofNoSide(i) : ofBothSides(i);
  }

  // A flag that a side did not set is false there.
  bool flag(size_t i) {
    auto &then = sides.then[i], &orelse = sides.orelse[i];
    merged[i].reset();
    if (!then && !orelse)
      return true;
    Value no(Const{false});
    Local local{Local::Defined, false, 0, {}, {}};
    local.value = *merge.merge(then ? then->value : no, orelse ? orelse->value : no);
    merged[i] = std::move(local);
    return true;
  }

  bool returned(size_t i) {
    auto &then = sides.then[i], &orelse = sides.orelse[i];
    merged[i] = then ? then : orelse;
    if (!merged[i])
      return true;
    auto value = then && orelse ? merge.merge(then->value, orelse->value)
                                : merge.adopt(merged[i]->value, then.has_value());
    if (value)
      merged[i]->value = std::move(*value);
    else if (then && orelse) {
      auto [one, other] = describeTypes(then->value, orelse->value);
      visitor.session.fail(Kind::ReturnMismatch, {visitor.frame->function.definition->name, one, other});
      explainConstants(visitor.session, Kind::ReturnMismatch, then->value, orelse->value);
    }
    return value.has_value();
  }

  // One side goes on. What the other one holds matters where its paths meet again, behind the loop or trip
  // that it has left; behind a return they never do.
  bool ofOneSide(size_t i, bool isThen) {
    auto &going = isThen ? sides.then[i] : sides.orelse[i], &left = isThen ? sides.orelse[i] : sides.then[i];
    merged[i] = going;
    if (!isDefined(going))
      return true;
    bool isMet = sides.hasLeftLoop(!isThen);
    auto value =
        isMet && isDefined(left) ? merge.merge(sides.then[i]->value, sides.orelse[i]->value) : std::nullopt;
    merged[i]->isOfPathsThatGoOn |= isMet && (!value || left->isOfPathsThatGoOn);
    return value ? set(i, std::move(value)) : set(i, merge.adopt(going->value, isThen));
  }

  // No side goes on, but some paths meet again behind a loop or trip.
  bool ofNoSide(size_t i) {
    auto &then = sides.then[i], &orelse = sides.orelse[i];
    bool isThenMet = sides.hasLeftLoop(true), isElseMet = sides.hasLeftLoop(false);
    if (isThenMet != isElseMet) {
      merged[i] = isThenMet ? then : orelse;
      return !isDefined(merged[i]) || set(i, merge.adopt(merged[i]->value, isThenMet));
    }
    if (!isThenMet || (!isDefined(then) && !isDefined(orelse)))
      return true;
    auto value =
        isDefined(then) && isDefined(orelse) ? merge.merge(then->value, orelse->value) : std::nullopt;
    merged[i] = Local{Local::OneBranch, false, visitor.lineOf(&place), {}, {}};
    if (!value)
      return true;
    merged[i] = then;
    merged[i]->isOfPathsThatGoOn |= orelse->isOfPathsThatGoOn;
    return set(i, std::move(value));
  }

  bool ofBothSides(size_t i) {
    auto &then = sides.then[i], &orelse = sides.orelse[i];
    merged[i] = then;
    if (!isDefined(then) || !isDefined(orelse)) {
      Local gone{isBroken(then) || isBroken(orelse) ? Local::Broken : Local::OneBranch,
                 false,
                 visitor.lineOf(&place),
                 {},
                 {}};
      if (gone.state == Local::Broken || isDefined(then) || isDefined(orelse))
        merged[i] = std::move(gone);
      return true;
    }
    auto value = merge.merge(then->value, orelse->value);
    if (!value && (then->isLastTrip || orelse->isLastTrip)) {
      merged[i] = Local{Local::LoopVariable, false, then->isLastTrip ? then->line : orelse->line, {}, {}};
      return true;
    }
    if (!value)
      return reportMismatch(i);
    merged[i]->isConstexpr &= orelse->isConstexpr && value->constant();
    merged[i]->isLastTrip |= orelse->isLastTrip;
    merged[i]->isOfPathsThatGoOn |= orelse->isOfPathsThatGoOn;
    if (!merged[i]->number)
      merged[i]->number = orelse->number;
    return set(i, std::move(value));
  }

  bool reportMismatch(size_t i) {
    const Value &then = sides.then[i]->value, &orelse = sides.orelse[i]->value;
    auto [thenType, elseType] = describeTypes(then, orelse);
    auto isInitial = [&](const Value &value) {
      if (!isDefined(sides.before[i]))
        return false;
      auto [before, now] = describeTypes(sides.before[i]->value, value);
      return before == now;
    };
    bool isInitialElse = isInitial(orelse), isInitialThen = !isInitialElse && isInitial(then);
    llvm::StringRef name = sides.names[i];
    Session &session = visitor.session;
    Kind kind = isInitialElse || isInitialThen ? Kind::MergeInitialMismatch : Kind::MergeMismatch;
    if (isInitialElse)
      session.fail(kind, {name, elseType, "then", thenType});
    else if (isInitialThen)
      session.fail(kind, {name, thenType, "else", elseType});
    else
      session.fail(kind, {name, thenType, elseType});
    explainConstants(session, kind, then, orelse);
    return false;
  }

  bool set(size_t i, std::optional<Value> value) {
    if (value)
      merged[i]->value = std::move(*value);
    return value.has_value();
  }
};

bool Visitor::mergeSides(mlir::scf::IfOp op, const syntax::Node &place, Sides &sides) {
  SideMerge parts{*this, sides, place, BranchMerge(session, op)};
  for (size_t i = 0; i < sides.names.size(); ++i)
    if (!parts.name(i))
      return false;
  mlir::ValueRange results = finish(session, op, parts.merge).getResults();
  for (std::optional<Local> &local : parts.merged)
    if (isDefined(local))
      BranchMerge::fill(local->value, results);
  restore(sides.names, parts.merged);
  return true;
}

} // namespace tegula::sema
