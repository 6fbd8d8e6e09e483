#include "transforms/VersionUnalignedLoops.h"
#include "analysis/AxisInfo.h"
#include "ir/tile/Tile.h"
#include "transforms/LoopVersions.h"
#include "transforms/ProductLoops.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {

namespace {

constexpr llvm::StringLiteral divisibilityName = "tt.divisibility";
constexpr unsigned accessBytes = 16;
// Each costs an analysis of the kernel; each loop its code twice.
constexpr size_t mostNumbers = 12, mostLoops = 4;

// A number that the kernel loads ahead of the loop, and what it would have to be a multiple of.
struct Number {
  LoadOp load;
  unsigned divisor = 1;
};

class Versioner {
public:
  Versioner(scf::ForOp loop, std::vector<diag::Remark> &remarks) : loop_(loop), remarks_(remarks) {}

  // Returns true if the loop became two.
  bool run() {
    for (LoadOp load : loop_.getOps<LoadOp>())
      if (isa<RankedTensorType>(load.getType()))
        collect(load);
    if (numbers_.empty() || numbers_.size() > mostNumbers || !keepThoseThatCount())
      return false;
    split();
    return true;
  }

private:
  // The numbers that the addresses of a load come from, and the bounds in its mask. They count elements, or
  // are addresses themselves.
  void collect(LoadOp load) {
    unsigned bits = elementType(load.getType()).getIntOrFloatBitWidth();
    unsigned elements = accessBytes / std::max(bits / 8, 1u);
    SmallVector<std::pair<Value, unsigned>> work{{load.getPtr(), elements}};
    if (load.getMask())
      work.push_back({load.getMask(), elements});
    llvm::DenseSet<Operation *> seen;
    while (!work.empty()) {
      auto [value, divisor] = work.pop_back_val();
      if (auto argument = dyn_cast<BlockArgument>(value)) {
        if (argument.getOwner() == loop_.getBody() && argument != loop_.getInductionVar())
          work.push_back({loop_.getInitArgs()[argument.getArgNumber() - 1], divisor});
        continue;
      }
      Operation *op = value.getDefiningOp();
      if (auto number = dyn_cast<LoadOp>(op); number && number.getType().isInteger()) {
        if (!loop_->isAncestor(op) && divisor > 1) {
          Number &known = numbers_.insert({op, Number{number}}).first->second;
          known.divisor = std::max(known.divisor, divisor);
        }
        continue;
      }
      if (op->getNumRegions() || !isMemoryEffectFree(op) || isa<DotOp>(op) || !seen.insert(op).second)
        continue;
      for (Value operand : op->getOperands())
        work.push_back({operand, isa<IntToPtrOp>(op) ? accessBytes : divisor});
    }
  }

  // Those without which some load would be narrower. False: even with all of them none is wider.
  bool keepThoseThatCount() {
    auto suppose = [](const Number &number) {
      Operation *op = number.load;
      op->setAttr(divisibilityName, IntegerAttr::get(IntegerType::get(op->getContext(), 32), number.divisor));
    };
    std::vector<unsigned> before = loadWidths(loop_);
    llvm::MapVector<Operation *, Attribute> promised;
    for (auto &[op, number] : numbers_) {
      promised[op] = op->getAttr(divisibilityName);
      suppose(number);
    }
    std::vector<unsigned> best = loadWidths(loop_);
    if (best != before)
      for (auto &[op, number] : numbers_) {
        op->removeAttr(divisibilityName);
        if (Attribute own = promised[op])
          op->setAttr(divisibilityName, own);
        if (loadWidths(loop_) == best)
          continue;
        suppose(number);
        chosen_.push_back(number);
      }
    for (auto &[op, own] : promised)
      if (own)
        op->setAttr(divisibilityName, own);
      else
        op->removeAttr(divisibilityName);
    return !chosen_.empty();
  }

  void split() {
    OpBuilder builder(loop_);
    Location loc = loop_.getLoc();
    Value all;
    SmallVector<Operation *> changed;
    for (Number &number : chosen_) {
      Value value = number.load.getResult();
      auto of = [&](int64_t constant) {
        return arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(value.getType(), constant));
      };
      Value rest = arith::AndIOp::create(builder, loc, value, of(number.divisor - 1));
      Value fits = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, rest, of(0));
      all = all ? arith::AndIOp::create(builder, loc, all, fits).getResult() : fits;
      changed.push_back(number.load);
      remarks_.push_back({locationText(number.load.getLoc()), "access",
                          "a loop that loads by this number has a version for multiples of " +
                              std::to_string(number.divisor)});
    }
    versionLoop(loop_, all, changed, [&](OpBuilder &inner, Operation *op, const IRMapping &) {
      Number &number = *llvm::find_if(chosen_, [&](Number &each) { return each.load == op; });
      Type type = number.load.getType();
      auto bits =
          arith::ConstantOp::create(inner, loc, inner.getIntegerAttr(type, llvm::Log2_32(number.divisor)));
      // The same number, in a form that says what it is a multiple of.
      Value high = arith::ShRUIOp::create(inner, loc, op->getResult(0), bits);
      return arith::ShLIOp::create(inner, loc, high, bits).getResult();
    });
  }

  scf::ForOp loop_;
  std::vector<diag::Remark> &remarks_;
  llvm::MapVector<Operation *, Number> numbers_;
  SmallVector<Number> chosen_;
};

} // namespace

void versionUnalignedLoops(Operation *function, std::vector<diag::Remark> &remarks) {
  size_t versions = 0;
  for (scf::ForOp loop : innermostLoopsOfDots(function))
    if (versions != mostLoops)
      versions += Versioner(loop, remarks).run();
}

} // namespace tegula::transforms
