#include "convert/Locality.h"

#include "mlir/IR/Matchers.h"

#include <set>

using namespace mlir;
using namespace tegula::tile;

namespace tegula::convert {

namespace {

constexpr int64_t window =
    64; // neighbours that are looked at: a bound of the work, which the answer does not depend on

using Neighbours = std::vector<int64_t>;
using Key = std::pair<Value, int>;

Neighbours uniform(Value scalar) {
  APInt number;
  return Neighbours(window, matchPattern(scalar, m_ConstantInt(&number)) ? number.getSExtValue() : 0);
}

// a = a op b; false for another op.
bool apply(Operation *op, int64_t &a, int64_t b) {
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

// Lists what a sample is made from, in the order that `combined` takes it; none for a leaf or an unknown.
SmallVector<Key, 3> sourcesOf(Key key) {
  auto [value, dim] = key;
  if (!isa<RankedTensorType>(value.getType()))
    return {};
  Operation *op = value.getDefiningOp();
  if (!op) {
    auto argument = cast<BlockArgument>(value);
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop || argument.getArgNumber() == 0)
      return {};
    return {{loop.getInitArgs()[argument.getArgNumber() - 1], dim}};
  }
  if (auto expand = dyn_cast<ExpandDimsOp>(op)) {
    int axis = int(expand.getAxis());
    return {{op->getOperand(0), dim == axis ? -1 : dim > axis ? dim - 1 : dim}};
  }
  if (isa<BroadcastOp>(op)) {
    bool repeated = dim >= 0 && shapeOf(op->getOperand(0).getType())[size_t(dim)] == 1;
    return {{op->getOperand(0), repeated ? -1 : dim}};
  }
  if (auto trans = dyn_cast<TransOp>(op))
    return {{op->getOperand(0), dim < 0 ? -1 : trans.getOrder()[size_t(dim)]}};
  int64_t one = 0;
  bool isBinary = op->getNumOperands() == 2 && op->getNumResults() == 1 && apply(op, one, 1);
  if (!isBinary && !isa<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, arith::SelectOp>(op))
    return {};
  SmallVector<Key, 3> sources;
  for (Value operand : op->getOperands())
    sources.push_back({operand, dim});
  return sources;
}

// The sample of what has no sources; nullopt where nothing is known. Along no dimension of its own (-1) all
// neighbours are one element, an entry of a table of pages say: which number it has is no matter, as of a
// scalar.
std::optional<Neighbours> leaf(Key key) {
  auto [value, dim] = key;
  if (!isa<RankedTensorType>(value.getType()))
    return uniform(value);
  Operation *op = value.getDefiningOp();
  if (auto range = dyn_cast_or_null<MakeRangeOp>(op)) {
    Neighbours result(window);
    for (int64_t i = 0; i != window; ++i)
      result[size_t(i)] = int32_t(range.getStart()) + (dim == 0 ? i : 0);
    return result;
  }
  if (auto constant = dyn_cast_or_null<arith::ConstantOp>(op)) {
    auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
    auto number = splat ? dyn_cast<IntegerAttr>(splat.getSplatValue<Attribute>()) : IntegerAttr();
    return number ? std::optional(Neighbours(window, number.getValue().getSExtValue())) : std::nullopt;
  }
  if (isa_and_nonnull<SplatOp>(op))
    return uniform(op->getOperand(0));
  return dim < 0 ? std::optional(Neighbours(window, 0)) : std::nullopt;
}

Neighbours combined(Operation *op, ArrayRef<const Neighbours *> sources) {
  if (sources.size() == 1)
    return *sources[0];
  bool isSelect = sources.size() == 3;
  Neighbours result = *sources[isSelect ? 2 : 0];
  for (size_t i = 0; i != window; ++i) {
    if (!isSelect)
      apply(op, result[i], (*sources[1])[i]);
    else if ((*sources[0])[i])
      result[i] = (*sources[1])[i];
  }
  return result;
}

} // namespace

// Operands before their users, on a stack of our own: an expression may be as long as the program.
const Locality::Sample &Locality::sample(Key wanted) {
  SmallVector<Key> stack{wanted};
  while (!stack.empty()) {
    Key key = stack.back();
    if (samples_.contains(key)) {
      stack.pop_back();
      continue;
    }
    SmallVector<Key, 3> sources = sourcesOf(key);
    auto isMissing = [&](const Key &source) { return !samples_.contains(source); };
    if (sampled_ < limit_ && llvm::any_of(sources, isMissing)) {
      llvm::copy_if(sources, std::back_inserter(stack), isMissing);
      continue;
    }
    stack.pop_back();
    SmallVector<const Neighbours *, 3> known;
    for (const Key &source : sources)
      if (auto found = samples_.find(source); found != samples_.end() && found->second)
        known.push_back(&*found->second);
    Sample result;
    if (sampled_ < limit_ && known.size() == sources.size())
      result = sources.empty() ? leaf(key) : combined(key.first.getDefiningOp(), known);
    sampled_ += result.has_value();
    samples_.try_emplace(key, std::move(result));
  }
  return samples_.find(wanted)->second;
}

unsigned Locality::sharingRun(Value offsets, unsigned dim, unsigned limit) {
  const Sample &values = sample({offsets, int(dim)});
  auto extent = size_t(std::min<int64_t>(window, shapeOf(offsets.getType())[dim]));
  if (!values)
    return 1;
  unsigned best = 1;
  double bestSharing = leastSharing_; // less is not worth giving up what lanes share
  for (unsigned run = 2; run <= limit && run <= extent; run *= 2) {
    size_t distinct = 0, runs = extent / run;
    for (size_t first = 0; first != runs * run; first += run)
      distinct +=
          std::set<int64_t>(values->begin() + long(first), values->begin() + long(first + run)).size();
    double sharing = double(runs * run) / double(distinct);
    if (sharing > moreSharing_ * bestSharing && distinct != runs) { // one address for all is a broadcast
      best = run;
      bestSharing = sharing;
    }
  }
  return best;
}

} // namespace tegula::convert
