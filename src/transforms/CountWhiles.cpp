#include "transforms/CountWhiles.h"
#include "ir/tile/Tile.h"

#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace tegula::transforms {

namespace {

// A loop that asks for nothing but `index < end`, and adds `step` to the index in each trip.
struct Counter {
  Value begin, end, step;
  OpResult behind; // the index when the loop has ended
};

std::optional<Counter> counterOf(scf::WhileOp loop) {
  Block *before = loop.getBeforeBody(), *after = loop.getAfterBody();
  auto compare = dyn_cast<arith::CmpIOp>(before->front());
  auto condition = cast<scf::ConditionOp>(before->getTerminator());
  if (!compare || compare->getNextNode() != condition || condition.getCondition() != compare.getResult() ||
      compare.getPredicate() != arith::CmpIPredicate::slt || !compare.getLhs().getType().isInteger(32))
    return std::nullopt;
  auto index = dyn_cast<BlockArgument>(compare.getLhs());
  bool isFixed = !loop->isAncestor(compare.getRhs().getParentRegion()->getParentOp());
  if (!index || index.getOwner() != before || !isFixed)
    return std::nullopt;
  auto found = llvm::find(condition.getArgs(), Value(index));
  if (found == condition.getArgs().end())
    return std::nullopt;
  unsigned number = unsigned(found - condition.getArgs().begin());
  auto yield = cast<scf::YieldOp>(after->getTerminator());
  auto step = yield.getOperand(index.getArgNumber()).getDefiningOp<arith::AddIOp>();
  llvm::APInt constant;
  if (!step || step.getLhs() != after->getArgument(number) ||
      !matchPattern(step.getRhs(), m_ConstantInt(&constant)) || !constant.isStrictlyPositive())
    return std::nullopt;
  return Counter{loop.getInits()[index.getArgNumber()], compare.getRhs(), step.getRhs(),
                 loop->getResult(number)};
}

// begin + step * ceil(max(end - begin, 0) / step)
Value indexBehind(OpBuilder &builder, Location loc, const Counter &counter) {
  Type wide = builder.getI64Type();
  auto widened = [&](Value value) { return arith::ExtSIOp::create(builder, loc, wide, value).getResult(); };
  Value begin = widened(counter.begin), end = widened(counter.end), step = widened(counter.step);
  Value zero = arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(0));
  Value one = arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(1));
  Value way = arith::MaxSIOp::create(builder, loc, arith::SubIOp::create(builder, loc, end, begin), zero);
  Value upwards = arith::AddIOp::create(builder, loc, way, arith::SubIOp::create(builder, loc, step, one));
  Value trips = arith::DivSIOp::create(builder, loc, upwards, step);
  Value last = arith::AddIOp::create(builder, loc, begin, arith::MulIOp::create(builder, loc, trips, step));
  return arith::TruncIOp::create(builder, loc, counter.begin.getType(), last);
}

} // namespace

void countWhiles(Operation *function) {
  SmallVector<scf::WhileOp> loops;
  function->walk([&](scf::WhileOp loop) { loops.push_back(loop); });
  IRRewriter rewriter(function->getContext());
  for (scf::WhileOp loop : loops)
    if (std::optional<Counter> counter = counterOf(loop)) {
      rewriter.setInsertionPoint(loop);
      // MLIR gives the index of the last trip (22.1).
      if (!counter->behind.use_empty())
        rewriter.replaceAllUsesWith(counter->behind, indexBehind(rewriter, loop.getLoc(), *counter));
      (void)scf::upliftWhileToForLoop(rewriter, loop); // a loop of another form stays
    }
}

} // namespace tegula::transforms
