#include "transforms/OrderPrograms.h"

#include "ir/tile/ProgramOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace tegula::tile;

namespace tegula::transforms {

namespace {

constexpr unsigned mostOps = 400; // that are followed; beyond, nothing is known

// By how much a scalar grows from one program to the next, about: rounding of quotients and the wraps of
// remainders are left out. Any order of programs is right, so a guess may be wrong.
struct Growth {
  double least = 0, most = 0;

  bool isZero() const { return least == 0 && most == 0; }
  bool isKnown() const { return std::isfinite(least) && std::isfinite(most); }
  Growth operator-() const { return {-most, -least}; }
  Growth operator+(Growth other) const { return {least + other.least, most + other.most}; }
  Growth operator-(Growth other) const { return *this + -other; }
  Growth operator*(double factor) const {
    return factor < 0 ? -*this * -factor : Growth{least * factor, most * factor};
  }
  Growth operator|(Growth other) const { return {std::min(least, other.least), std::max(most, other.most)}; }
};

constexpr Growth unknown = {-HUGE_VAL, HUGE_VAL};

std::optional<double> constantOf(Value value) {
  APInt number;
  return matchPattern(value, m_ConstantInt(&number)) ? std::optional(number.signedRoundToDouble())
                                                     : std::nullopt;
}

class GrowthAlong {
public:
  explicit GrowthAlong(unsigned axis) : axis_(axis) {}

  Growth of(Value value) {
    if (auto found = known_.find(value); found != known_.end())
      return found->second;
    if (known_.size() > mostOps)
      return unknown;
    known_[value] = unknown; // of what is asked again on the way, around a loop
    Growth growth = compute(value);
    return known_[value] = growth.isKnown() ? growth : unknown;
  }

  // Of the number of trips.
  Growth ofTrips(scf::ForOp loop) {
    Growth distance = of(loop.getUpperBound()) - of(loop.getLowerBound());
    if (!distance.isKnown() || !of(loop.getStep()).isZero())
      return unknown;
    return distance * (1 / std::max(1.0, constantOf(loop.getStep()).value_or(1)));
  }

private:
  Growth compute(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      Operation *owner = argument.getOwner()->getParentOp();
      if (auto loop = dyn_cast<scf::ForOp>(owner))
        return argument == loop.getInductionVar() ? of(loop.getLowerBound()) : unknown;
      return isa<FuncOp>(owner) ? Growth() : unknown;
    }
    Operation *op = value.getDefiningOp();
    auto first = [&] { return of(op->getOperand(0)); };
    auto second = [&] { return of(op->getOperand(1)); };
    return llvm::TypeSwitch<Operation *, Growth>(op)
        .Case([&](GetProgramIdOp id) { return id.getAxis() == axis_ ? Growth{1, 1} : Growth(); })
        .Case<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, arith::IndexCastOp>(
            [&](Operation *) { return first(); })
        .Case([&](arith::AddIOp) { return first() + second(); })
        .Case([&](arith::SubIOp) { return first() - second(); })
        .Case<arith::MinSIOp, arith::MaxSIOp, arith::MinUIOp, arith::MaxUIOp>(
            [&](Operation *) { return first() | second(); })
        .Case([&](arith::SelectOp select) { return of(select.getTrueValue()) | of(select.getFalseValue()); })
        .Case([&](arith::MulIOp) {
          if (auto factor = constantOf(op->getOperand(1)))
            return first() * *factor;
          if (auto factor = constantOf(op->getOperand(0)))
            return second() * *factor;
          return second().isZero() ? first() : first().isZero() ? second() : unknown; // sizes are above 0
        })
        .Case([&](arith::ShLIOp) {
          auto bits = constantOf(op->getOperand(1));
          return bits && *bits >= 0 && *bits < 32 ? first() * std::exp2(*bits) : orZero(op);
        })
        .Case<arith::DivSIOp, arith::DivUIOp>([&](Operation *) {
          auto divisor = constantOf(op->getOperand(1));
          return divisor && *divisor != 0 ? first() * (1 / *divisor) : second().isZero() ? first() : unknown;
        })
        .Case<arith::RemSIOp, arith::RemUIOp>(
            [&](Operation *) { return second().isZero() ? first() : unknown; })
        .Default([&](Operation *) { return orZero(op); });
  }

  // Computed from what is the same in all programs along the axis.
  Growth orZero(Operation *op) {
    bool isSame = op->getNumRegions() == 0 &&
                  llvm::all_of(op->getOperands(), [&](Value operand) { return of(operand).isZero(); });
    return isSame ? Growth() : unknown;
  }

  unsigned axis_;
  llvm::DenseMap<Value, Growth> known_;
};

// Instructions that touch memory or ask for the program's place, by their names.
bool readsBeyondOperands(StringRef instructions) {
  return llvm::any_of(ArrayRef<StringRef>{"ctaid", "ld.", "atom.", "red."},
                      [&](StringRef name) { return instructions.contains(name); });
}

// May one program wait for what another does, or ask the machine itself for its place?
bool mayDependOnOrder(Operation *function) {
  auto depends = [](Operation *op) {
    if (auto load = dyn_cast<LoadOp>(op))
      return load.getIsVolatile();
    if (auto code = dyn_cast<ElementwiseInlineAsmOp>(op))
      return !code.getPure() || readsBeyondOperands(code.getAsmString());
    if (auto loop = dyn_cast<scf::WhileOp>(op))
      return loop->walk([](LoadOp) { return WalkResult::interrupt(); }).wasInterrupted();
    return isa<AtomicRMWOp, AtomicCASOp, ExternElementwiseOp>(op);
  };
  return function
      ->walk([&](Operation *op) { return depends(op) ? WalkResult::interrupt() : WalkResult::advance(); })
      .wasInterrupted();
}

} // namespace

void orderPrograms(Operation *function, std::vector<diag::Remark> &remarks) {
  SmallVector<scf::ForOp> loops;
  function->walk([&](scf::ForOp loop) { loops.push_back(loop); });
  if (loops.empty() || mayDependOnOrder(function))
    return;
  for (unsigned axis : {0u, 1u, 2u}) {
    GrowthAlong growth(axis);
    Growth trips;
    for (scf::ForOp loop : loops)
      trips = trips + growth.ofTrips(loop);
    if (!trips.isKnown() || trips.least < 0 || trips.most <= 0)
      continue;
    function->setAttr(longestFirstName, IntegerAttr::get(IntegerType::get(function->getContext(), 32), axis));
    remarks.push_back({locationText(loops.front().getLoc()), "pipeline",
                       "loops get longer with program_id(" + std::to_string(axis) +
                           "): programs with the largest one start first"});
    return;
  }
}

} // namespace tegula::transforms
