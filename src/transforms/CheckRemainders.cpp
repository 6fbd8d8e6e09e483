#include "transforms/CheckRemainders.h"
#include "analysis/AxisInfo.h"
#include "ir/tile/Checks.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {

namespace {

using analysis::AxisInfoAnalysis;
using analysis::checkedRemainderName;

constexpr unsigned accessBits = 128;
// Each costs an analysis of the kernel; more stay as they are.
constexpr size_t mostRemainders = 16;

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

bool isRemainder(Operation *op) {
  return isa<arith::RemSIOp, arith::RemUIOp>(op) && isa<RankedTensorType>(op->getResult(0).getType());
}

Value zeroLike(OpBuilder &builder, Value tile) {
  auto type = cast<RankedTensorType>(tile.getType());
  return arith::ConstantOp::create(builder, tile.getLoc(),
                                   DenseElementsAttr::get(type, builder.getZeroAttr(type.getElementType())));
}

void check(Operation *op) {
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  Location loc = op->getLoc();
  Value dividend = op->getOperand(0), divisor = op->getOperand(1), remainder = op->getResult(0);
  Value zero = zeroLike(builder, dividend);
  Value holds = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, divisor, zero);
  if (isa<arith::RemSIOp>(op)) {
    Value above = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, dividend, zero);
    Value within = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, remainder, zero);
    holds = arith::AndIOp::create(builder, loc, holds, arith::OrIOp::create(builder, loc, above, within));
  }
  auto check = AssertOp::create(
      builder, loc, holds,
      builder.getStringAttr("an address is made with `%` of a negative multiple of the divisor, or by 0; "
                            "make the dividend non-negative"));
  check->setAttr(ownCheckName, builder.getUnitAttr());
}

} // namespace

void checkRemainders(Operation *root, std::vector<diag::Remark> &remarks) {
  auto function = cast<FuncOp>(root);
  SmallVector<Operation *> remainders;
  function.walk([&](Operation *op) {
    if (isRemainder(op))
      remainders.push_back(op);
  });
  if (remainders.empty() || remainders.size() > mostRemainders)
    return;
  // One more at a time: those that make no access wider are not checked.
  std::vector<unsigned> before = widths(function);
  for (Operation *op : remainders) {
    op->setAttr(checkedRemainderName, UnitAttr::get(op->getContext()));
    std::vector<unsigned> after = widths(function);
    if (after == before) {
      op->removeAttr(checkedRemainderName);
      continue;
    }
    before = std::move(after);
    check(op);
    remarks.push_back(
        {locationText(op->getLoc()), "access", "`%` is checked at run time, so that accesses may be wide"});
  }
}

} // namespace tegula::transforms
