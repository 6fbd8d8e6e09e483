#include "convert/Locality.h"

#include "mlir/IR/Matchers.h"

#include <set>

using namespace mlir;
using namespace tegula::tile;

namespace tegula::convert {

namespace {

constexpr int64_t window = 64; // neighbours that are looked at
using Values = std::vector<int64_t>;

// The elements of a tile at 0, 1, ... along one dimension, 0 along the others.
class Sampler {
public:
  // `dim` -1: at 0 along all.
  std::optional<Values> sample(Value value, int dim, unsigned depth = 0) {
    Operation *op = value.getDefiningOp();
    if (depth > 64)
      return std::nullopt;
    if (!isa<RankedTensorType>(value.getType()))
      return scalar(value);
    if (!op) {
      auto argument = cast<BlockArgument>(value);
      auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      if (!loop || argument.getArgNumber() == 0)
        return std::nullopt;
      return sample(loop.getInitArgs()[argument.getArgNumber() - 1], dim, depth + 1);
    }
    auto operand = [&](unsigned i, int d) { return sample(op->getOperand(i), d, depth + 1); };
    if (auto range = dyn_cast<MakeRangeOp>(op)) {
      Values result(window);
      for (int64_t i = 0; i != window; ++i)
        result[size_t(i)] = int32_t(range.getStart()) + (dim == 0 ? i : 0);
      return result;
    }
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
      auto number = splat ? dyn_cast<IntegerAttr>(splat.getSplatValue<Attribute>()) : IntegerAttr();
      return number ? std::optional(Values(window, number.getValue().getSExtValue())) : std::nullopt;
    }
    if (isa<SplatOp>(op))
      return scalar(op->getOperand(0));
    if (auto expand = dyn_cast<ExpandDimsOp>(op)) {
      int axis = int(expand.getAxis());
      return operand(0, dim == axis ? -1 : dim > axis ? dim - 1 : dim);
    }
    if (isa<BroadcastOp>(op)) {
      bool repeated = dim >= 0 && shapeOf(op->getOperand(0).getType())[size_t(dim)] == 1;
      return operand(0, repeated ? -1 : dim);
    }
    if (auto trans = dyn_cast<TransOp>(op))
      return operand(0, dim < 0 ? -1 : trans.getOrder()[size_t(dim)]);
    if (isa<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp>(op))
      return operand(0, dim);
    if (isa<arith::SelectOp>(op)) {
      auto condition = operand(0, dim), yes = operand(1, dim), no = operand(2, dim);
      if (!condition || !yes || !no)
        return std::nullopt;
      for (size_t i = 0; i != window; ++i)
        (*no)[i] = (*condition)[i] ? (*yes)[i] : (*no)[i];
      return no;
    }
    if (op->getNumOperands() != 2)
      return std::nullopt;
    auto a = operand(0, dim), b = operand(1, dim);
    if (!a || !b)
      return std::nullopt;
    for (size_t i = 0; i != window; ++i)
      if (!apply(op, (*a)[i], (*b)[i]))
        return std::nullopt;
    return a;
  }

private:
  static std::optional<Values> scalar(Value value) {
    APInt number;
    bool known = matchPattern(value, m_ConstantInt(&number));
    return Values(window, known ? number.getSExtValue() : 0);
  }

  // a = a op b
  static bool apply(Operation *op, int64_t &a, int64_t b) {
    uint64_t x = uint64_t(a), y = uint64_t(b);
    if (isa<arith::AddIOp, AddPtrOp>(op))
      a = int64_t(x + y);
    else if (isa<arith::SubIOp>(op))
      a = int64_t(x - y);
    else if (isa<arith::MulIOp>(op))
      a = int64_t(x * y);
    else if (isa<arith::DivSIOp, arith::DivUIOp>(op))
      a = b > 0 ? a / b : 0;
    else if (isa<arith::RemSIOp, arith::RemUIOp>(op))
      a = b > 0 ? a % b : 0;
    else if (isa<arith::AndIOp>(op))
      a &= b;
    else if (isa<arith::OrIOp>(op))
      a |= b;
    else if (isa<arith::XOrIOp>(op))
      a ^= b;
    else if (isa<arith::ShLIOp>(op))
      a = int64_t(x << (y & 63));
    else if (isa<arith::ShRSIOp, arith::ShRUIOp>(op))
      a >>= b & 63;
    else if (isa<arith::MinSIOp>(op))
      a = std::min(a, b);
    else if (isa<arith::MaxSIOp>(op))
      a = std::max(a, b);
    else if (auto compare = dyn_cast<arith::CmpIOp>(op))
      a = arith::applyCmpPredicate(compare.getPredicate(), APInt(64, x), APInt(64, y));
    else
      return false;
    return true;
  }
};

} // namespace

unsigned sharingRun(Value offsets, unsigned dim, unsigned limit) {
  std::optional<Values> values = Sampler().sample(offsets, int(dim));
  auto extent = size_t(std::min<int64_t>(window, shapeOf(offsets.getType())[dim]));
  if (!values)
    return 1;
  unsigned best = 1;
  double bestSharing = 1.5; // less is not worth giving up what lanes share
  for (unsigned run = 2; run <= limit && run <= extent; run *= 2) {
    size_t distinct = 0, runs = extent / run;
    for (size_t first = 0; first != runs * run; first += run)
      distinct += std::set<int64_t>(values->begin() + long(first), values->begin() + long(first + run)).size();
    double sharing = double(runs * run) / double(distinct);
    if (sharing > 1.05 * bestSharing && distinct != runs) { // one address for all is a broadcast
      best = run;
      bestSharing = sharing;
    }
  }
  return best;
}

} // namespace tegula::convert
