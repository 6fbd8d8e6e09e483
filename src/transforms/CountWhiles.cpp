#include "transforms/CountWhiles.h"
#include "ir/tile/Ranges.h"
#include "ir/tile/Tile.h"

#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tegula::transforms {

namespace {

// A loop that asks for nothing but its index and an `end` that it does not change, and moves the index by
// `step` in each trip: up to the end, with `isClosed` to it, or with `isDown` to a constant end.
struct Counter {
  unsigned number; // of the index, among what the loop carries
  arith::CmpIOp compare;
  Value end, step;
  bool isDown = false, isClosed = false;
};

int64_t mostOfType(Type integer) { return llvm::maxIntN(int64_t(integer.getIntOrFloatBitWidth())); }

// The most that a number is of which it is known that it is at least 1 and does not wrap.
std::optional<int64_t> mostOf(Value value, unsigned depth = 0) {
  constexpr int64_t mostPrograms = INT32_MAX;
  constexpr unsigned mostDepth = 6;
  llvm::APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.isStrictlyPositive() ? std::optional(constant.getSExtValue()) : std::nullopt;
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<tile::GetNumProgramsOp>(op))
    return mostPrograms;
  if (isa_and_nonnull<arith::ExtSIOp>(op) && depth != mostDepth)
    return mostOf(op->getOperand(0), depth + 1);
  if (!isa_and_nonnull<arith::AddIOp, arith::MulIOp>(op) || depth == mostDepth)
    return std::nullopt;
  std::optional<int64_t> left = mostOf(op->getOperand(0), depth + 1),
                         right = left ? mostOf(op->getOperand(1), depth + 1) : left;
  int64_t both = 0;
  if (!right || (isa<arith::AddIOp>(op) ? llvm::AddOverflow(*left, *right, both)
                                        : llvm::MulOverflow(*left, *right, both)))
    return std::nullopt;
  return both <= mostOfType(value.getType()) ? std::optional(both) : std::nullopt;
}

// The number of which a value is the product with a constant above zero, and the constant.
std::optional<std::pair<Value, int64_t>> multipleOf(Value value) {
  auto product = value.getDefiningOp<arith::MulIOp>();
  llvm::APInt constant;
  if (!product || !matchPattern(product.getRhs(), m_ConstantInt(&constant)) ||
      !constant.isStrictlyPositive() || !mostOf(product.getLhs()))
    return std::nullopt;
  return std::pair(product.getLhs(), constant.getSExtValue());
}

bool isStep(Value value) { return mostOf(value) || multipleOf(value); }

// The step ahead of its loop, by a builder that is there. A product that would not fit its bits is the most
// of its kind that does: a trip more would be past them.
Value stepAhead(OpBuilder &builder, Value value) {
  if (mostOf(value)) {
    Operation *op = value.getDefiningOp();
    IRMapping map;
    for (Value operand : op->getOperands())
      map.map(operand, stepAhead(builder, operand));
    return builder.clone(*op, map)->getResult(0);
  }
  auto [number, factor] = *multipleOf(value);
  Location loc = value.getLoc();
  auto constant = [&](int64_t number) {
    return arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(value.getType(), number));
  };
  Value most = constant(mostOfType(value.getType()) / factor);
  Value cut = arith::MinSIOp::create(builder, loc, stepAhead(builder, number), most);
  return arith::MulIOp::create(builder, loc, cut, constant(factor));
}

// By what a trip moves the index; null: by nothing that is known to be above zero, in that direction.
Value stepOf(Value next, Value index, bool isDown) {
  Operation *op = next.getDefiningOp();
  bool isSum = isa_and_nonnull<arith::AddIOp>(op);
  if (!isSum && !(isDown && isa_and_nonnull<arith::SubIOp>(op)))
    return {};
  Value step = op->getOperand(0) == index            ? op->getOperand(1)
               : isSum && op->getOperand(1) == index ? op->getOperand(0)
                                                     : Value();
  llvm::APInt constant;
  if (!step || !isDown)
    return step && isStep(step) ? step : Value();
  bool isConstant = matchPattern(step, m_ConstantInt(&constant)) && !constant.isMinSignedValue();
  return isConstant && constant.isNegative() == isSum && !constant.isZero() ? step : Value();
}

std::optional<Counter> counterOf(scf::WhileOp loop) {
  Block *before = loop.getBeforeBody(), *after = loop.getAfterBody();
  auto compare = dyn_cast<arith::CmpIOp>(before->front());
  auto condition = cast<scf::ConditionOp>(before->getTerminator());
  if (!compare || compare->getNextNode() != condition || condition.getCondition() != compare.getResult() ||
      ValueRange(before->getArguments()) != condition.getArgs())
    return std::nullopt;
  Value left = compare.getLhs(), right = compare.getRhs();
  arith::CmpIPredicate predicate = compare.getPredicate();
  if (auto argument = dyn_cast<BlockArgument>(right); argument && argument.getOwner() == before) {
    std::swap(left, right);
    using enum arith::CmpIPredicate;
    predicate = predicate == slt   ? sgt
                : predicate == sle ? sge
                : predicate == sgt ? slt
                : predicate == sge ? sle
                                   : eq;
  }
  auto index = dyn_cast<BlockArgument>(left);
  if (!index || index.getOwner() != before || !llvm::hasNItems(index.getUses(), 2) ||
      loop->isAncestor(right.getParentRegion()->getParentOp()) ||
      !(index.getType().isInteger(32) || index.getType().isInteger(64)))
    return std::nullopt;
  Counter counter{index.getArgNumber(), compare, right, {}};
  switch (predicate) {
  case arith::CmpIPredicate::slt: break;
  case arith::CmpIPredicate::sle: counter.isClosed = true; break;
  case arith::CmpIPredicate::sgt: counter.isDown = true; break;
  case arith::CmpIPredicate::sge: counter.isDown = counter.isClosed = true; break;
  default: return std::nullopt;
  }
  llvm::APInt end;
  if (counter.isDown && (!matchPattern(right, m_ConstantInt(&end)) || end.slt(counter.isClosed)))
    return std::nullopt; // the way there could be longer than a number
  auto yield = cast<scf::YieldOp>(after->getTerminator());
  counter.step = stepOf(yield.getOperand(counter.number), after->getArgument(counter.number), counter.isDown);
  return counter.step ? std::optional(counter) : std::nullopt;
}

// A loop's index, which counts up from `begin` by `step` as long as it is below `end`; all are known ahead.
class Counting {
public:
  Counting(RewriterBase &rewriter, scf::WhileOp loop, const Counter &counter)
      : rewriter_(rewriter), loop_(loop), number_(counter.number), type_(counter.end.getType()),
        begin_(loop.getInits()[number_]) {
    rewriter_.setInsertionPoint(loop);
    if (counter.isDown) {
      countDown(counter);
    } else {
      step_ = stepAhead(rewriter_, counter.step);
      end_ = counter.isClosed ? behind(counter.end) : counter.end;
    }
  }

  // The same in the form that MLIR takes for a loop that counts.
  void write(arith::CmpIOp compare) {
    if (OpResult last = loop_->getResult(number_);
        !last.use_empty()) { // MLIR gives that of the last trip (22.1)
      Value index = indexBehind();
      rewriter_.replaceAllUsesWith(last, isTurned_ ? sub(from_, index) : index);
    }
    loop_.getInitsMutable()[number_].set(begin_);
    rewriter_.setInsertionPoint(compare);
    rewriter_.replaceOpWithNewOp<arith::CmpIOp>(compare, arith::CmpIPredicate::slt,
                                                loop_.getBeforeBody()->getArgument(number_), end_);
    Block *after = loop_.getAfterBody();
    Value index = after->getArgument(number_);
    if (isTurned_) {
      rewriter_.setInsertionPointToStart(after);
      Value turned = sub(from_, index);
      rewriter_.replaceAllUsesExcept(index, turned, turned.getDefiningOp());
    }
    Operation *yield = after->getTerminator();
    rewriter_.setInsertionPoint(yield);
    Value next = arith::AddIOp::create(rewriter_, loop_.getLoc(), index, step_);
    rewriter_.modifyOpInPlace(yield, [&] { yield->setOperand(number_, next); });
  }

private:
  Value constant(int64_t number) {
    return arith::ConstantOp::create(rewriter_, loop_.getLoc(), rewriter_.getIntegerAttr(type_, number));
  }
  Value sub(Value a, Value b) { return rewriter_.createOrFold<arith::SubIOp>(loop_.getLoc(), a, b); }

  // `i > c; i -= s` is `i = from - u` for `u < from - c; u += s`. With c >= 0, neither leaves its bits.
  void countDown(const Counter &counter) {
    llvm::APInt end, step;
    (void)matchPattern(counter.end, m_ConstantInt(&end));
    (void)matchPattern(counter.step, m_ConstantInt(&step));
    int64_t last = end.getSExtValue() - counter.isClosed;
    isTurned_ = true;
    from_ = begin_;
    begin_ = constant(0);
    step_ = constant(step.abs().getSExtValue());
    end_ = last == 0 ? from_
                     : sub(arith::MaxSIOp::create(rewriter_, loop_.getLoc(), from_, constant(last)),
                           constant(last));
  }

  // The number behind an end. `i <= n - 1` is `i < n`; up to the greatest number of all a loop would never
  // end.
  Value behind(Value end) {
    if (Value next = tile::nextOf(end))
      return next;
    Location loc = loop_.getLoc();
    Value cut = rewriter_.createOrFold<arith::MinSIOp>(loc, end, constant(mostOfType(type_) - 1));
    return rewriter_.createOrFold<arith::AddIOp>(loc, cut, constant(1));
  }

  // begin + step * ceil(max(end - begin, 0) / step), of which each part fits its bits without a sign.
  Value indexBehind() {
    Location loc = loop_.getLoc();
    Value isRun = arith::CmpIOp::create(rewriter_, loc, arith::CmpIPredicate::slt, begin_, end_);
    Value one = arith::ExtUIOp::create(rewriter_, loc, type_, isRun);
    Value way = sub(arith::MaxSIOp::create(rewriter_, loc, begin_, end_), begin_);
    Value others = arith::DivUIOp::create(rewriter_, loc, sub(way, one), step_);
    Value trips = arith::AddIOp::create(rewriter_, loc, others, one);
    return arith::AddIOp::create(rewriter_, loc, begin_, arith::MulIOp::create(rewriter_, loc, trips, step_));
  }

  RewriterBase &rewriter_;
  scf::WhileOp loop_;
  unsigned number_;
  Type type_;
  Value begin_, end_, step_;
  bool isTurned_ = false;
  Value from_; // from where a loop counts down
};

// Moves ahead of the loop the part of its condition that the loop does not change: it is asked once at least.
void hoistCondition(scf::WhileOp loop) {
  for (Operation &op : llvm::make_early_inc_range(loop.getBeforeBody()->without_terminator()))
    if (op.getNumRegions() == 0 && isMemoryEffectFree(&op) &&
        llvm::all_of(op.getOperands(), [&](Value operand) { return loop.isDefinedOutsideOfLoop(operand); }))
      op.moveBefore(loop);
}

} // namespace

void countWhiles(Operation *function) {
  SmallVector<scf::WhileOp> loops;
  function->walk([&](scf::WhileOp loop) { loops.push_back(loop); });
  IRRewriter rewriter(function->getContext());
  for (scf::WhileOp loop : loops) {
    hoistCondition(loop);
    if (std::optional<Counter> counter = counterOf(loop)) {
      Counting(rewriter, loop, *counter).write(counter->compare);
      rewriter.setInsertionPoint(loop); // where the new one comes
      (void)scf::upliftWhileToForLoop(rewriter, loop);
    }
  }
}

} // namespace tegula::transforms
