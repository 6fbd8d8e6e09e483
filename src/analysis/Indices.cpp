#include "analysis/Indices.h"
#include "ir/tile/Tile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::analysis {

bool Indices::contains(Value value, unsigned depth) {
  constexpr unsigned deepest = 64; // chains of ops behind it count as anything
  if (depth == deepest)
    return false;
  auto [known, isNew] = known_.try_emplace(value, false);
  if (!isNew)
    return known->second;
  bool is = isMadeOfIndices(value, depth + 1);
  return known_[value] = is;
}

bool Indices::isMadeOfIndices(Value value, unsigned depth) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return !constant.isNegative();
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop && argument == loop.getInductionVar() && contains(loop.getLowerBound(), depth) &&
           contains(loop.getStep(), depth);
  }
  Operation *op = value.getDefiningOp();
  if (isa<GetProgramIdOp, GetNumProgramsOp>(op))
    return true;
  if (auto range = dyn_cast<MakeRangeOp>(op))
    return int32_t(range.getStart()) >= 0;
  if (isa<arith::RemSIOp>(op)) // has the dividend's sign, or is 0
    return contains(op->getOperand(0), depth);
  return isa<arith::AddIOp, arith::MulIOp, arith::DivSIOp, arith::MinSIOp, arith::ExtSIOp, SplatOp,
             ExpandDimsOp, BroadcastOp, ReshapeOp, TransOp>(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return contains(operand, depth); });
}

} // namespace tegula::analysis
