#include "transforms/VersionUnalignedLoops.h"
#include "analysis/AxisInfo.h"
#include "analysis/Multiples.h"
#include "ir/tile/Tile.h"
#include "transforms/CheckRemainders.h"
#include "transforms/LoopVersions.h"
#include "transforms/ProductLoops.h"
#include "transforms/VersionClampedLoops.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {

namespace {

constexpr llvm::StringLiteral divisibilityName = "tt.divisibility";
constexpr unsigned accessBytes = 16, leastCopyBits = 32;
// Were an argument a multiple of 16, its launch would have said so: bytes are read eight at a time.
constexpr unsigned mostOfArgument = 8;
// Each costs an analysis of the kernel; each loop its code twice.
constexpr size_t mostNumbers = 12, mostLoops = 4;

// A number from outside of the kernel's code: an argument, or one that is loaded ahead of the loop.
// `divisor`: what it would have to be a multiple of; 0: it would have to be 1.
struct Number {
  Value value;
  unsigned divisor = 1;

  bool isOne() const { return divisor == 0; }
};

// While it lives, the function reads a 1 in the place of an argument.
class SupposedOne {
public:
  explicit SupposedOne(Value argument) : argument_(argument) {
    OpBuilder builder = OpBuilder::atBlockBegin(argument.getParentBlock());
    one_ =
        arith::ConstantOp::create(builder, argument.getLoc(), builder.getIntegerAttr(argument.getType(), 1));
    argument_.replaceAllUsesWith(one_);
  }
  SupposedOne(SupposedOne &&other) : argument_(other.argument_), one_(std::exchange(other.one_, nullptr)) {}
  ~SupposedOne() {
    if (!one_)
      return;
    one_.getResult().replaceAllUsesWith(argument_);
    one_.erase();
  }

private:
  Value argument_;
  arith::ConstantOp one_;
};

class Versioner {
public:
  Versioner(scf::ForOp loop, std::vector<diag::Remark> &remarks)
      : loop_(loop), function_(loop->getParentOfType<FuncOp>()), remarks_(remarks),
        remainders_(remaindersToCheck(function_)) {}

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
        else if (argument.getOwner() == &function_.getBody().front())
          add(argument, std::min(divisor, mostOfArgument));
        continue;
      }
      Operation *op = value.getDefiningOp();
      if (auto number = dyn_cast<LoadOp>(op); number && number.getType().isInteger()) {
        if (!loop_->isAncestor(op))
          add(value, divisor);
        continue;
      }
      if (op->getNumRegions() || !isMemoryEffectFree(op) || isa<DotOp>(op) || !seen.insert(op).second)
        continue;
      if (std::optional<unsigned> inside = operandWithinBounds(op); inside && !loop_->isAncestor(op))
        clamps_.push_back({op, *inside});
      for (Value operand : op->getOperands())
        work.push_back({operand, isa<IntToPtrOp>(op) ? accessBytes : divisor});
    }
  }

  void add(Value value, unsigned divisor) {
    auto type = dyn_cast<IntegerType>(value.getType());
    auto promised = dyn_cast_or_null<IntegerAttr>(promiseOf(value));
    if (divisor == 1 || !type || type.getWidth() == 1 || (promised && promised.getInt() % divisor == 0))
      return;
    Number &known = numbers_.insert({value, Number{value}}).first->second;
    known.divisor = std::max(known.divisor, divisor);
  }

  // The promise that the function already has: of an argument, or of an op's result.
  Attribute promiseOf(Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument ? function_.getArgAttr(argument.getArgNumber(), divisibilityName)
                    : value.getDefiningOp()->getAttr(divisibilityName);
  }

  void promise(Value value, Attribute divisor) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (argument && divisor)
      function_.setArgAttr(argument.getArgNumber(), divisibilityName, divisor);
    else if (argument)
      function_.removeArgAttr(argument.getArgNumber(), StringAttr::get(value.getContext(), divisibilityName));
    else if (divisor)
      value.getDefiningOp()->setAttr(divisibilityName, divisor);
    else
      value.getDefiningOp()->removeAttr(divisibilityName);
  }

  // Returns how wide loads would be if no `%` and no clamp tore a run of neighbours apart: that is for the
  // passes behind this one to check.
  std::vector<unsigned> widths() {
    auto number = [&](unsigned inside) {
      return IntegerAttr::get(IntegerType::get(function_.getContext(), 32), inside);
    };
    for (auto [op, inside] : clamps_)
      op->setAttr(analysis::takenOperandName, number(inside));
    for (Operation *op : remainders_)
      op->setAttr(analysis::checkedRemainderName, UnitAttr::get(op->getContext()));
    std::vector<unsigned> result = loadWidths(loop_);
    for (Operation *op : remainders_)
      op->removeAttr(analysis::checkedRemainderName);
    for (auto [op, inside] : clamps_)
      op->removeAttr(analysis::takenOperandName);
    return result;
  }

  // Is a load wider that is copied four bytes at a time, if at all? Wider ones come in boxes or by half the
  // bytes without a version.
  bool isWorth(ArrayRef<unsigned> before, ArrayRef<unsigned> after) {
    size_t i = 0;
    for (LoadOp load : loop_.getOps<LoadOp>())
      if (isa<RankedTensorType>(load.getType())) {
        unsigned bits = elementType(load.getType()).getIntOrFloatBitWidth();
        if (after[i] > before[i] && before[i] * bits <= leastCopyBits)
          return true;
        ++i;
      }
    return false;
  }

  // Supposes of arguments, the last ones first, that each is 1 where a load is then wider than `best`, which
  // becomes what the widths are with them: the innermost stride, of which the launch does not say that it is
  // 1 (its type is written down, or it is not specialized), stands behind the others.
  std::vector<SupposedOne> supposeOnes(std::vector<unsigned> &best) {
    std::vector<SupposedOne> ones;
    for (BlockArgument argument : llvm::reverse(function_.getArguments())) {
      auto known = numbers_.find(argument);
      if (known == numbers_.end())
        continue;
      SupposedOne one(argument);
      std::vector<unsigned> now = widths();
      if (!isWorth(best, now) || !std::equal(now.begin(), now.end(), best.begin(), std::greater_equal<>()))
        continue;
      best = std::move(now);
      known->second.divisor = 0;
      ones.push_back(std::move(one));
    }
    return ones;
  }

  // Those without which some load would be narrower. False: even with all of them nothing is gained.
  bool keepThoseThatCount() {
    auto suppose = [&](const Number &number) {
      promise(number.value, IntegerAttr::get(IntegerType::get(function_.getContext(), 32), number.divisor));
    };
    std::vector<unsigned> before = widths();
    llvm::MapVector<Value, Attribute> promised;
    for (auto &[value, number] : numbers_) {
      promised[value] = promiseOf(value);
      suppose(number);
    }
    std::vector<unsigned> best = widths();
    std::vector<SupposedOne> ones = supposeOnes(best);
    if (isWorth(before, best))
      for (auto &[value, number] : numbers_) {
        if (number.isOne()) {
          chosen_.push_back(number);
          continue;
        }
        promise(value, promised[value]);
        if (widths() == best)
          continue;
        suppose(number);
        chosen_.push_back(number);
      }
    for (auto &[value, own] : promised)
      promise(value, own);
    return !chosen_.empty();
  }

  void split() {
    OpBuilder builder(loop_);
    Location loc = loop_.getLoc();
    Value all;
    SmallVector<Value> changed;
    for (const Number &number : chosen_) {
      Value value = number.value;
      auto of = [&](int64_t constant) {
        return arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(value.getType(), constant));
      };
      Value rest =
          number.isOne() ? value : arith::AndIOp::create(builder, loc, value, of(number.divisor - 1));
      Value fits = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, rest, of(number.isOne()));
      all = all ? arith::AndIOp::create(builder, loc, all, fits).getResult() : fits;
      changed.push_back(value);
      remarks_.push_back({locationText(value.getLoc()), "access",
                          "a loop that loads by this number has a version for " +
                              (number.isOne() ? "1" : "multiples of " + std::to_string(number.divisor))});
    }
    versionLoop(loop_, all, changed, [&](OpBuilder &inner, Value value, const IRMapping &) -> Value {
      const Number &number = *llvm::find_if(chosen_, [&](const Number &each) { return each.value == value; });
      if (number.isOne())
        return arith::ConstantOp::create(inner, loc, inner.getIntegerAttr(value.getType(), 1)).getResult();
      return analysis::multipleOf(inner, loc, value, number.divisor);
    });
  }

  scf::ForOp loop_;
  FuncOp function_;
  std::vector<diag::Remark> &remarks_;
  SmallVector<Operation *> remainders_;
  llvm::MapVector<Value, Number> numbers_;
  SmallVector<std::pair<Operation *, unsigned>> clamps_; // and the operand that each gives
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
