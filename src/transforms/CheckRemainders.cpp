#include "transforms/CheckRemainders.h"
#include "analysis/AccessGuards.h"
#include "analysis/AxisInfo.h"
#include "analysis/Indices.h"
#include "ir/tile/Checks.h"
#include "transforms/FormRanges.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {

namespace {

using analysis::AccessAnalysis;
using analysis::AccessGuards;
using analysis::AxisInfo;
using analysis::AxisInfoAnalysis;
using analysis::checkedRemainderName;
using analysis::Factor;
using analysis::Form;
using analysis::Guard;
using analysis::Indices;
using analysis::Polynomial;

constexpr unsigned accessBits = 128;
// Each costs an analysis of the kernel; more stay as they are.
constexpr size_t mostOps = 24;

// Lists what each access of a tile moves at once.
std::vector<unsigned> widths(FuncOp function) {
  AxisInfoAnalysis axes(function);
  std::vector<unsigned> result;
  function.walk([&](Operation *op) {
    if (!isa<LoadOp, StoreOp>(op) || !isa<RankedTensorType>(op->getOperand(0).getType()))
      return;
    Value pointers = op->getOperand(0),
          mask = isa<LoadOp>(op) ? cast<LoadOp>(op).getMask() : cast<StoreOp>(op).getMask();
    result.push_back(axes.accessWidth(pointers, mask, axes.order(pointers)[0], accessBits));
  });
  return result;
}

bool isQuotient(Operation *op) { return isa<arith::DivSIOp>(op); }

bool mayTear(Operation *op) {
  return op->getNumResults() == 1 && isa<RankedTensorType>(op->getResult(0).getType()) &&
         (isa<arith::RemSIOp, arith::RemUIOp>(op) || isQuotient(op));
}

// The index that is below zero wherever this one is: remainders and quotients by numbers above zero have
// their dividend's sign, or are 0.
Value signSource(Value index) {
  APInt divisor;
  while (Operation *op = index.getDefiningOp()) {
    bool keepsSign = isa<arith::RemSIOp>(op) ||
                     (isQuotient(op) && matchPattern(op->getOperand(1), m_ConstantInt(&divisor)) &&
                      divisor.isStrictlyPositive());
    if (!keepsSign)
      break;
    index = op->getOperand(0);
  }
  return index;
}

Value zeroLike(OpBuilder &builder, Value tile) {
  auto type = cast<RankedTensorType>(tile.getType());
  return arith::ConstantOp::create(builder, tile.getLoc(),
                                   DenseElementsAttr::get(type, builder.getZeroAttr(type.getElementType())));
}

Value isNot(OpBuilder &builder, Value condition) {
  auto type = cast<RankedTensorType>(condition.getType());
  Value yes = arith::ConstantOp::create(builder, condition.getLoc(),
                                        DenseElementsAttr::get(type, builder.getBoolAttr(true)));
  return arith::XOrIOp::create(builder, condition.getLoc(), condition, yes);
}

// Is no element of the index below zero, or past its bits? Of a form that the program can compute its ends
// are asked.
Value isNotNegative(OpBuilder &builder, Value index, AccessAnalysis &access) {
  using enum arith::CmpIPredicate;
  Location loc = index.getLoc();
  const Form &form = access.form(index);
  bool isLine = llvm::none_of(form.strides, [](const Polynomial &stride) { return !isScalar(stride); });
  if (!isLine || !isScalar(form.base) || !isComputed(index, access))
    return arith::CmpIOp::create(builder, loc, sge, index, zeroLike(builder, index));
  Emitted scalars{builder, loc};
  auto [least, greatest] = scalars.range(form, shapeOf(index.getType()));
  Value holds = scalars.compare(sge, least, 0);
  unsigned width = elementType(index.getType()).getIntOrFloatBitWidth();
  return width == 64 ? holds : scalars.both(holds, scalars.compare(slt, greatest, int64_t(1) << (width - 1)));
}

// May a check of the op ask the value: is it there ahead of the op, or behind it in the same block?
bool isAtHand(Value value, Operation *op) {
  Operation *source = value.getDefiningOp();
  if (source && source->getBlock() == op->getBlock())
    return true;
  Operation *user = value.getParentBlock()->findAncestorOpInBlock(*op);
  return user && (!source || source->isBeforeInBlock(user));
}

// A condition at the coordinates of a tile; null where its dimensions come in another order.
Value atTile(OpBuilder &builder, const Factor &condition, ArrayRef<int64_t> shape) {
  Location loc = condition.value.getLoc();
  auto type = [&](ArrayRef<int64_t> extents) { return RankedTensorType::get(extents, builder.getI1Type()); };
  if (condition.dims.empty())
    return SplatOp::create(builder, loc, type(shape), condition.value);
  if (condition.dims.front() < 0 || !llvm::is_sorted(condition.dims))
    return nullptr;
  Value tile = condition.value;
  SmallVector<int64_t> extents(shapeOf(tile.getType()));
  for (unsigned d = 0; d < shape.size(); ++d) {
    if (llvm::is_contained(condition.dims, int8_t(d)))
      continue;
    extents.insert(extents.begin() + d, 1);
    tile = ExpandDimsOp::create(builder, loc, type(extents), tile, d);
  }
  return ArrayRef(extents) == shape ? tile : BroadcastOp::create(builder, loc, type(shape), tile).getResult();
}

// The checks of one kernel, of which all ops to check are marked.
class Checks {
public:
  // `widest`: the most neighbours that an access takes.
  Checks(FuncOp function, unsigned widest) : widest_(widest), axes_(function), guards_(function) {}

  void check(Operation *op, bool isOfIndex);

private:
  Value keepsRuns(OpBuilder &builder, Operation *op, bool isOfIndex, bool isAsked);
  Value matters(OpBuilder &builder, Operation *op);
  Value isNotFirst(OpBuilder &builder, Operation *op);

  const int64_t widest_;
  AxisInfoAnalysis axes_;
  AccessAnalysis access_;
  AccessGuards guards_;
  llvm::DenseMap<Value, Operation *> checked_; // sources of signs, and behind which op
};

// The elements of the op's result that an access may depend on, as far as that is known at the op, behind
// which the builder then stands, or behind the last of the conditions. Null: any.
Value Checks::matters(OpBuilder &builder, Operation *op) {
  auto ofOp = llvm::make_filter_range(
      guards_.of(op->getResult(0)), [&](const Guard &guard) { return isAtHand(guard.condition.value, op); });
  Operation *last = op;
  for (const Guard &guard : ofOp)
    if (Operation *source = guard.condition.value.getDefiningOp();
        source && source->getBlock() == op->getBlock() && last->isBeforeInBlock(source))
      last = source;
  builder.setInsertionPointAfter(last);
  Value all;
  for (const Guard &guard : ofOp) {
    Value holds = atTile(builder, guard.condition, shapeOf(op->getResult(0).getType()));
    if (!holds)
      continue;
    if (guard.isNegated)
      holds = isNot(builder, holds);
    all = all ? arith::AndIOp::create(builder, op->getLoc(), all, holds).getResult() : holds;
  }
  return all;
}

// The elements that are not the first of their run of neighbours. Where the first of a run, and the divisor,
// are multiples of the run's length, no other element is a multiple of the divisor. Null: runs of one.
Value Checks::isNotFirst(OpBuilder &builder, Operation *op) {
  const AxisInfo &dividend = axes_.at(op->getOperand(0)), &divisor = axes_.at(op->getOperand(1));
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0).getType());
  unsigned along = 0;
  int64_t run = 1;
  for (unsigned d = 0; d < shape.size(); ++d) {
    int64_t here = std::min({widest_, dividend.contiguity[d], dividend.divisibility[d], divisor.constancy[d],
                             divisor.divisibility[d]});
    if (here > run)
      along = d, run = here;
  }
  if (run == 1)
    return nullptr;
  Location loc = op->getLoc();
  auto type = RankedTensorType::get({shape[along]}, builder.getI32Type());
  auto constant = [&](int32_t value) {
    return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, value));
  };
  Value place = MakeRangeOp::create(builder, loc, type, 0, shape[along]);
  Value inRun = arith::AndIOp::create(builder, loc, place, constant(int32_t(run - 1)));
  Value isNot = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, inRun, constant(0));
  return atTile(builder, Factor{isNot, 0, {int8_t(along)}}, shape);
}

// Of an op whose dividend is an index, or of another one: is each element fit to keep runs together, that
// matters? An index past its bits matters always, and is not asked again.
Value Checks::keepsRuns(OpBuilder &builder, Operation *op, bool isOfIndex, bool isAsked) {
  Location loc = op->getLoc();
  Value dividend = op->getOperand(0), divisor = op->getOperand(1), remainder = op->getResult(0);
  if (isOfIndex && (isQuotient(op) || matchPattern(divisor, m_NonZero())))
    return isNotNegative(builder, signSource(dividend), access_);
  Value matter = matters(builder, op);
  Value zero = zeroLike(builder, dividend), holds;
  if (!isQuotient(op)) // neighbours have one quotient by 0, whichever it is
    holds = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, divisor, zero);
  if (!isOfIndex && isa<arith::RemSIOp, arith::DivSIOp>(op)) {
    if (isQuotient(op))
      remainder = arith::SubIOp::create(builder, loc, dividend,
                                        arith::MulIOp::create(builder, loc, op->getResult(0), divisor));
    Value above = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, dividend, zero);
    Value within = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, remainder, zero);
    Value follows = arith::OrIOp::create(builder, loc, above, within);
    holds = holds ? arith::AndIOp::create(builder, loc, holds, follows).getResult() : follows;
  }
  if (Value other = isNotFirst(builder, op))
    holds = arith::OrIOp::create(builder, loc, holds, other);
  if (matter)
    holds = arith::OrIOp::create(builder, loc, holds, isNot(builder, matter));
  if (!isOfIndex || isAsked)
    return holds;
  Value isPositive = isNotNegative(builder, signSource(dividend), access_);
  if (!isTile(isPositive))
    isPositive = SplatOp::create(builder, loc, holds.getType(), isPositive);
  return arith::AndIOp::create(builder, loc, holds, isPositive);
}

void Checks::check(Operation *op, bool isOfIndex) {
  Value source = signSource(op->getOperand(0));
  Operation *before = isOfIndex ? checked_.lookup(source) : nullptr;
  // An index that was checked on the way here is checked.
  bool isAsked = before && before->getBlock()->findAncestorOpInBlock(*op);
  if (isAsked && (isQuotient(op) || matchPattern(op->getOperand(1), m_NonZero())))
    return;
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  const char *why = isOfIndex ? "an address is made of an index that is past its bits, or with `%` by 0; "
                                "compute the index in 64 bits"
                    : isQuotient(op)
                        ? "an address is made with `//` of a negative multiple of the divisor; "
                          "make the dividend non-negative"
                        : "an address is made with `%` of a negative multiple of the divisor, or by 0; "
                          "make the dividend non-negative";
  Value holds = keepsRuns(builder, op, isOfIndex, isAsked);
  auto check = AssertOp::create(builder, op->getLoc(), holds, builder.getStringAttr(why));
  check->setAttr(ownCheckName, builder.getUnitAttr());
  if (isOfIndex && !isAsked)
    checked_[source] = op;
}

} // namespace

SmallVector<Operation *> remaindersToCheck(Operation *function) {
  SmallVector<Operation *> ops;
  function->walk([&](Operation *op) {
    if (mayTear(op))
      ops.push_back(op);
  });
  Indices indices;
  if (ops.size() > mostOps) // those that fewer addresses are made of give way first
    llvm::erase_if(ops,
                   [&](Operation *op) { return isQuotient(op) && !indices.contains(op->getOperand(0)); });
  if (ops.size() > mostOps)
    ops.clear();
  return ops;
}

void checkRemainders(Operation *root, std::vector<diag::Remark> &remarks) {
  auto function = cast<FuncOp>(root);
  SmallVector<Operation *> ops = remaindersToCheck(function);
  if (ops.empty())
    return;
  // An access may need several of them; one less at a time: those that make no access wider are not checked.
  auto mark = [](Operation *op) { op->setAttr(checkedRemainderName, UnitAttr::get(op->getContext())); };
  std::vector<unsigned> before = widths(function);
  llvm::for_each(ops, mark);
  std::vector<unsigned> after = widths(function);
  llvm::erase_if(ops, [&](Operation *op) {
    op->removeAttr(checkedRemainderName);
    bool isNeeded = after != before && widths(function) != after;
    if (isNeeded)
      mark(op);
    return !isNeeded;
  });
  Checks checks(function, after.empty() ? 1 : *llvm::max_element(after));
  Indices indices;
  for (Operation *op : ops) {
    checks.check(op, indices.contains(op->getOperand(0)));
    remarks.push_back({locationText(op->getLoc()), "access",
                       std::string(isQuotient(op) ? "`//`" : "`%`") +
                           " is checked at run time, so that accesses may be wide"});
  }
}

} // namespace tegula::transforms
