#include "transforms/VersionClampedLoops.h"
#include "analysis/AxisInfo.h"
#include "ir/tile/Tile.h"
#include "transforms/FormRanges.h"
#include "transforms/LoopVersions.h"
#include "transforms/ProductLoops.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {

namespace {

using analysis::takenOperandName;

// Each costs an analysis of the kernel; each loop its code twice.
constexpr size_t mostClamps = 8, mostLoops = 4;

// An op on integers that gives its operand `inside`, unless some element is out of bounds.
struct ClampOp {
  Operation *op;
  unsigned inside; // the operand's number
};

bool isUniform(Value tile) {
  return tile.getDefiningOp<SplatOp>() || matchPattern(tile, m_Constant()) ||
         !isa<RankedTensorType>(tile.getType());
}

// Tiles of conditions: where the clamp changes nothing.
Value conditionOf(OpBuilder &builder, const ClampOp &clamp) {
  if (auto select = dyn_cast<arith::SelectOp>(clamp.op); select && clamp.inside == 1)
    return select.getCondition();
  return arith::CmpIOp::create(builder, clamp.op->getLoc(), arith::CmpIPredicate::eq, clamp.op->getResult(0),
                               clamp.op->getOperand(clamp.inside));
}

// Are all elements true?
Value allOf(OpBuilder &builder, Location loc, Value conditions) {
  Type i1 = builder.getI1Type();
  auto reduce = ReduceOp::create(builder, loc, TypeRange(i1), ValueRange(conditions), 0u);
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&reduce.getCombine(), {}, {i1, i1}, {loc, loc});
  Value both = arith::AndIOp::create(builder, loc, body->getArgument(0), body->getArgument(1));
  ReduceReturnOp::create(builder, loc, both);
  return reduce.getResult(0);
}

// Asks the ends of what is linear along the tile; null where it is not. False, too, where arithmetic wraps.
Value staysByItsEnds(OpBuilder &builder, const ClampOp &clamp) {
  analysis::AccessAnalysis access(/*throughClamps=*/true);
  Value clamped = clamp.op->getResult(0);
  std::optional<analysis::Clamp> found = access.clamp(clamped);
  if (!found || found->inside != clamp.op->getOperand(clamp.inside))
    return {};
  llvm::SmallSetVector<Value, 8> conditions;
  conditions.insert(clamped);
  for (const analysis::Form &bound : found->bounds)
    conditions.insert(bound.conditions.begin(), bound.conditions.end());
  if (!llvm::all_of(conditions, [&](Value condition) { return isComputed(condition, access); }))
    return {};
  Emitted e{builder, clamp.op->getLoc()};
  Value all;
  for (Value condition : conditions)
    all = all ? e.both(all, e.holds(condition, access)) : e.holds(condition, access);
  return all;
}

class Versioner {
public:
  Versioner(scf::ForOp loop, std::vector<diag::Remark> &remarks) : loop_(loop), remarks_(remarks) {}

  // Returns true if the loop became two.
  bool run() {
    for (Operation &op : *loop_.getBody())
      if (auto load = dyn_cast<LoadOp>(op); load && isa<RankedTensorType>(load.getType()))
        collect(load);
    if (clamps_.empty() || clamps_.size() > mostClamps)
      return false;
    keepThoseThatCount();
    if (chosen_.empty())
      return false;
    split();
    return true;
  }

private:
  // The clamps ahead of the loop that the addresses of a load come from.
  void collect(LoadOp load) {
    SmallVector<Value> work{load.getPtr()};
    llvm::DenseSet<Operation *> seen;
    while (!work.empty()) {
      Value value = work.pop_back_val();
      if (auto argument = dyn_cast<BlockArgument>(value)) {
        if (argument.getOwner() == loop_.getBody() && argument != loop_.getInductionVar())
          work.push_back(loop_.getInitArgs()[argument.getArgNumber() - 1]);
        continue;
      }
      Operation *op = value.getDefiningOp();
      if (op->getNumRegions() || !isMemoryEffectFree(op) || isa<DotOp>(op) || !seen.insert(op).second)
        continue;
      if (std::optional<unsigned> inside = operandWithinBounds(op); inside && !loop_->isAncestor(op))
        clamps_.insert({op, ClampOp{op, *inside}});
      llvm::append_range(work, op->getOperands());
    }
  }

  void keepThoseThatCount() {
    std::vector<unsigned> before = loadWidths(loop_);
    for (auto &[op, clamp] : clamps_) {
      op->setAttr(takenOperandName, IntegerAttr::get(IntegerType::get(op->getContext(), 32), clamp.inside));
      if (std::vector<unsigned> after = loadWidths(loop_); after != before) {
        before = std::move(after);
        chosen_.push_back(clamp);
      } else {
        op->removeAttr(takenOperandName);
      }
    }
    for (const ClampOp &clamp : chosen_)
      clamp.op->removeAttr(takenOperandName);
  }

  void split() {
    OpBuilder builder(loop_);
    Location loc = loop_.getLoc();
    Value all;
    for (const ClampOp &clamp : chosen_) {
      Value stays = staysByItsEnds(builder, clamp);
      if (!stays)
        stays = allOf(builder, clamp.op->getLoc(), conditionOf(builder, clamp));
      all = all ? arith::AndIOp::create(builder, loc, all, stays).getResult() : stays;
      remarks_.push_back(
          {locationText(clamp.op->getLoc()), "access",
           "a loop that loads by these offsets has a version for tiles in which none is clamped"});
    }
    SmallVector<Value> changed;
    for (const ClampOp &clamp : chosen_)
      changed.push_back(clamp.op->getResult(0));
    versionLoop(loop_, all, changed, [&](OpBuilder &, Value value, const IRMapping &map) {
      const ClampOp &clamp =
          *llvm::find_if(chosen_, [&](const ClampOp &each) { return each.op == value.getDefiningOp(); });
      return map.lookupOrDefault(clamp.op->getOperand(clamp.inside));
    });
  }

  scf::ForOp loop_;
  std::vector<diag::Remark> &remarks_;
  llvm::MapVector<Operation *, ClampOp> clamps_;
  SmallVector<ClampOp> chosen_;
};

} // namespace

std::optional<unsigned> operandWithinBounds(Operation *op) {
  auto type = op->getNumResults() == 1 ? dyn_cast<RankedTensorType>(op->getResult(0).getType()) : nullptr;
  if (!type || type.getRank() != 1 || !type.getElementType().isInteger())
    return std::nullopt;
  if (auto select = dyn_cast<arith::SelectOp>(op);
      select && isa<RankedTensorType>(select.getCondition().getType()))
    for (unsigned inside : {1u, 2u})
      if (isUniform(op->getOperand(3 - inside)) && !isUniform(op->getOperand(inside)))
        return inside;
  if (isa<arith::MinSIOp, arith::MinUIOp, arith::MaxSIOp, arith::MaxUIOp>(op))
    for (unsigned inside : {0u, 1u})
      if (isUniform(op->getOperand(1 - inside)) && !isUniform(op->getOperand(inside)))
        return inside;
  return std::nullopt;
}

void versionClampedLoops(Operation *function, std::vector<diag::Remark> &remarks) {
  size_t versions = 0;
  for (scf::ForOp loop : innermostLoopsOfDots(function))
    if (versions != mostLoops)
      versions += Versioner(loop, remarks).run();
}

} // namespace tegula::transforms
