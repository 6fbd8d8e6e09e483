#include "analysis/UsualStride.h"
#include "ir/tile/Tile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace tegula::tile;

namespace tegula::analysis {

namespace {

constexpr double unknown = std::numeric_limits<double>::infinity();

// By how much neighbours along a dimension differ.
struct Steps {
  double most = 0;  // most of them
  double jumps = 0; // the share of them where a quotient steps on, by whatever that is multiplied with
  double mean = 0;  // all of them, jumps included; `unknown` where run time says how far these go

  bool operator==(const Steps &other) const = default;
};

using Stride = std::optional<Steps>;

constexpr unsigned mostOps = 200;        // that are followed; beyond, nothing is known
constexpr double mostStride = 1LL << 30; // beyond, neighbours are far apart
constexpr double roomyDivisor = 4;       // of a stride: most neighbours then lie ahead of a remainder's turn
constexpr double lineElements = 32; // of the cache: a jump to another line costs no more the farther it goes

Stride bounded(Steps steps) { return std::abs(steps.most) < mostStride ? Stride(steps) : std::nullopt; }

Stride evenly(double stride) { return bounded({stride, 0, stride}); }

Stride sum(Stride a, Stride b) {
  return a && b ? bounded({a->most + b->most, std::min(1.0, a->jumps + b->jumps), a->mean + b->mean})
                : std::nullopt;
}

// An unknown distance has no sign: the difference of two such is unknown, too.
double scaled(double mean, double factor) { return mean == unknown ? mean : mean * factor; }

Stride times(Stride a, double factor) {
  return a ? bounded({a->most * factor, a->jumps, scaled(a->mean, factor)}) : std::nullopt;
}

// By a number that run time knows, the same along the dimension: only jumps may go any distance.
Stride timesUnknown(Stride a) {
  if (!a || a == Steps())
    return a;
  return a->most == 0 ? Stride({0, a->jumps, unknown}) : std::nullopt;
}

std::optional<int64_t> constantIn(Value value) {
  if (auto splat = value.getDefiningOp<SplatOp>())
    value = splat.getOperand();
  APInt number;
  if (!matchPattern(value, m_ConstantInt(&number)) || number.getSignificantBits() > 32)
    return std::nullopt;
  return number.getSExtValue();
}

// Is each element 0 or 1?
bool isFlag(Value value) {
  while (isa_and_nonnull<arith::ExtUIOp, arith::ExtSIOp, arith::TruncIOp>(value.getDefiningOp()) &&
         !elementType(value.getDefiningOp()->getOperand(0).getType()).isInteger(1))
    value = value.getDefiningOp()->getOperand(0);
  if (auto choice = value.getDefiningOp<arith::SelectOp>())
    return constantIn(choice.getTrueValue()) == 1 && constantIn(choice.getFalseValue()) == 0;
  return value.getDefiningOp<arith::ExtUIOp>() != nullptr;
}

// The stride of indices that are loaded. They are far apart, but mostly nearer than neighbours whose distance
// only run time knows.
constexpr double ofIndices = 1LL << 20;

// By how much most neighbours differ among the places that running sums of flags give to what they keep.
Stride ofRunningSum(ScanOp scan, unsigned dim) {
  Operation &combine = scan.getCombine().front().front();
  bool counts = scan->getNumOperands() == 1 && isa<arith::AddIOp>(combine) &&
                dim == unsigned(scan.getAxis()) && isFlag(scan->getOperand(0));
  return counts ? evenly(1) : std::nullopt;
}

class Walk {
public:
  Stride of(Value value, unsigned dim) {
    if (!isa<RankedTensorType>(value.getType()))
      return Steps();
    if (++seen_ > mostOps)
      return std::nullopt;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      return loop ? of(loop.getInitArgs()[argument.getArgNumber() - 1], dim) : std::nullopt;
    }
    auto inner = [&](Operation *op) { return of(op->getOperand(0), dim); };
    return llvm::TypeSwitch<Operation *, Stride>(value.getDefiningOp())
        .Case([](SplatOp) { return Steps(); })
        .Case([](arith::ConstantOp op) {
          return isa<SplatElementsAttr>(op.getValue()) ? Stride(Steps()) : std::nullopt;
        })
        .Case([](MakeRangeOp) { return evenly(1); })
        .Case([&](ScanOp op) { return ofRunningSum(op, dim); })
        .Case([&](LoadOp op) {
          if (isa<PointerType>(elementType(op.getType())))
            return Stride();
          Stride places = of(op.getPtr(), dim);
          return Stride(timesUnknown(places).value_or(*evenly(ofIndices)));
        })
        .Case([&](ExpandDimsOp op) {
          unsigned axis = unsigned(op.getAxis());
          return dim == axis ? Stride(Steps()) : of(op->getOperand(0), dim - (dim > axis));
        })
        .Case([&](BroadcastOp op) {
          return shapeOf(op->getOperand(0).getType())[dim] == 1 ? Stride(Steps()) : inner(op);
        })
        .Case<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp>([&](Operation *op) { return inner(op); })
        .Case<arith::AddIOp, AddPtrOp>(
            [&](Operation *op) { return sum(inner(op), of(op->getOperand(1), dim)); })
        .Case([&](arith::SubIOp op) { return sum(inner(op), times(of(op.getRhs(), dim), -1)); })
        .Case([&](arith::MulIOp op) {
          return product(inner(op), op.getLhs(), of(op.getRhs(), dim), op.getRhs());
        })
        .Case<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>([&](Operation *op) {
          bool isQuotient = isa<arith::DivSIOp, arith::DivUIOp>(op);
          return of(op->getOperand(1), dim) == Steps()
                     ? divided(inner(op), constantIn(op->getOperand(1)), isQuotient)
                     : std::nullopt;
        })
        .Case<arith::ShRSIOp, arith::ShRUIOp, arith::ShLIOp>([&](Operation *op) {
          std::optional<int64_t> places = constantIn(op->getOperand(1));
          if (!places || *places < 0 || *places > 30)
            return Stride();
          Stride stride = inner(op);
          if (!isa<arith::ShLIOp>(op))
            return divided(stride, 1LL << *places, true);
          return times(stride, double(1LL << *places));
        })
        .Case([&](arith::AndIOp op) {
          std::optional<int64_t> mask = constantIn(op.getRhs());
          return mask && *mask > 0 && llvm::isPowerOf2_64(uint64_t(*mask) + 1)
                     ? divided(inner(op), *mask + 1, false)
                     : std::nullopt;
        })
        .Case<arith::MinSIOp, arith::MaxSIOp, arith::MinUIOp, arith::MaxUIOp>(
            [&](Operation *op) { return clamped(inner(op), of(op->getOperand(1), dim)); })
        .Case([&](arith::SelectOp op) {
          return clamped(of(op.getTrueValue(), dim), of(op.getFalseValue(), dim));
        })
        .Default([](Operation *) { return std::nullopt; });
  }

private:
  static Stride product(Stride a, Value left, Stride b, Value right) {
    if (std::optional<int64_t> factor = constantIn(right))
      return times(a, double(*factor));
    if (std::optional<int64_t> factor = constantIn(left))
      return times(b, double(*factor));
    if (b == Steps())
      return timesUnknown(a);
    return a == Steps() ? timesUnknown(b) : std::nullopt;
  }

  // By what is the same along the dimension; null: an unknown number, presumably a large one.
  static Stride divided(Stride stride, std::optional<int64_t> divisor, bool isQuotient) {
    if (!stride || divisor == 0)
      return std::nullopt;
    if (!divisor)
      return isQuotient ? Steps() : stride;
    const double by = std::abs(double(*divisor)), most = std::abs(stride->most);
    const bool isWhole = std::fmod(most, by) == 0;
    const double jumps = isWhole ? stride->jumps : std::min(1.0, stride->jumps + most / by);
    if (isQuotient)
      return Steps{most < by ? 0 : stride->most / double(*divisor), jumps,
                   scaled(stride->mean, 1 / double(*divisor))};
    if (isWhole)
      return Steps{0, jumps, most == 0 ? stride->mean : 0};
    return most * roomyDivisor <= by ? Stride({stride->most, jumps, stride->mean}) : std::nullopt;
  }

  // Of two values one of which is taken: the one that moves, if the other is the bound.
  static Stride clamped(Stride a, Stride b) {
    return a == Steps() ? b : b == Steps() || a == b ? a : std::nullopt;
  }

  unsigned seen_ = 0;
};

} // namespace

std::optional<double> usualStride(Value tile, unsigned dim) {
  Stride stride = Walk().of(tile, dim);
  if (!stride)
    return std::nullopt;
  return std::min(std::abs(stride->mean), std::abs(stride->most) + stride->jumps * lineElements);
}

} // namespace tegula::analysis
