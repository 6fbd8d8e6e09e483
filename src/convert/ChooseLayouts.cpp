#include "convert/ChooseLayouts.h"

using namespace mlir;
using namespace tegula::tile;
using tegula::layout::Axis;
using tegula::layout::Layout;

namespace tegula::convert {

namespace {

constexpr unsigned accessBits = 128;

unsigned bitsOf(Type tile) {
  Type element = elementType(tile);
  if (auto pointer = dyn_cast<PointerType>(element))
    element = pointer.getPointee();
  return std::max(8u, element.getIntOrFloatBitWidth());
}

// An access of memory by a tile of addresses, whatever the op.
struct AccessOperands {
  Value pointers, mask;
};
std::optional<AccessOperands> accessOf(Operation *op) {
  if (auto load = dyn_cast<LoadOp>(op))
    return AccessOperands{load.getPtr(), load.getMask()};
  if (auto store = dyn_cast<StoreOp>(op))
    return AccessOperands{store.getPtr(), store.getMask()};
  if (op->getName().getStringRef().starts_with("tt.atomic"))
    return AccessOperands{op->getOperand(0), {}};
  return std::nullopt;
}

} // namespace

LayoutChoice::LayoutChoice(FuncOp function, const Classes &classes, analysis::AxisInfoAnalysis &axes, unsigned warps)
    : classes_(classes), axes_(axes), warps_(warps) {
  collectAnchors(function);
  for (Value leader : classes.leaders()) {
    auto found = anchors_.find(leader);
    if (found == anchors_.end())
      continue;
    const auto &anchors = found->second;
    auto heaviest = std::max_element(anchors.begin(), anchors.end(),
                                     [](const Anchor &a, const Anchor &b) { return a.weight < b.weight; });
    unsigned width = 1;
    for (const Anchor &anchor : anchors)
      if (anchor.order[0] == heaviest->order[0])
        width = std::max(width, anchor.width);
    chosen_.try_emplace(leader, build(leader.getType(), heaviest->order, width));
  }
  // What producers give and readers want, until nothing new is known.
  for (bool changed = true; changed;) {
    changed = false;
    function.walk([&](Operation *op) { changed |= derive(op); });
    if (changed)
      continue;
    for (Value leader : classes.leaders())
      if (!chosen_.contains(leader)) {
        chosen_.try_emplace(leader, plain(leader.getType()));
        changed = true;
        break;
      }
  }
}

void LayoutChoice::collectAnchors(FuncOp function) {
  function.walk([&](Operation *op) {
    std::optional<AccessOperands> access = accessOf(op);
    if (!access || !isTile(access->pointers))
      return;
    Value member;
    for (Value value : {access->pointers, access->mask})
      if (value && isTile(value) && classes_.isData(value))
        member = value;
    for (Value value : op->getOperands())
      if (isTile(value) && classes_.isData(value) && shapeOf(value.getType()) == shapeOf(access->pointers.getType()))
        member = value;
    for (Value result : op->getResults())
      if (isTile(result))
        member = result;
    if (!member)
      return;
    Anchor anchor;
    anchor.order = axes_.order(access->pointers);
    anchor.width = axes_.accessWidth(access->pointers, access->mask, anchor.order[0], accessBits);
    auto type = cast<RankedTensorType>(access->pointers.getType());
    anchor.weight = double(type.getNumElements()) * bitsOf(type);
    if (axes_.at(access->pointers).contiguity[anchor.order[0]] == 1)
      anchor.weight /= 16; // scattered: no layout helps
    for (Operation *parent = op->getParentOp(); parent && !isa<FuncOp>(parent); parent = parent->getParentOp())
      if (isa<LoopLikeOpInterface>(parent))
        anchor.weight *= 16;
    anchors_[classes_.leader(member)].push_back(std::move(anchor));
  });
}

Layout LayoutChoice::build(Type tile, ArrayRef<unsigned> order, unsigned width) const {
  auto type = cast<RankedTensorType>(tile);
  int64_t perThread = std::max<int64_t>(1, type.getNumElements() / (32 * warps_));
  int64_t vector = 1;
  while (2 * vector <= std::min<int64_t>(width, perThread))
    vector *= 2;
  return layout::coalesced(type.getShape().vec(), std::span(order.data(), order.size()), unsigned(vector), warps_);
}

Layout LayoutChoice::coalesced(Value pointers, Value mask) const {
  SmallVector<unsigned> order = axes_.order(pointers);
  return build(pointers.getType(), order, axes_.accessWidth(pointers, mask, order[0], accessBits));
}

Layout LayoutChoice::plain(Type tile) const {
  SmallVector<unsigned> order;
  for (unsigned d = shapeOf(tile).size(); d-- != 0;)
    order.push_back(d);
  return build(tile, order, accessBits / bitsOf(tile));
}

unsigned LayoutChoice::contiguousBytes(const Layout &layout, Value pointers, Value mask) const {
  unsigned dim = axes_.order(pointers)[0];
  unsigned width = axes_.accessWidth(pointers, mask, dim, accessBits);
  unsigned run = std::min(width, layout.contiguous(dim));
  int64_t stride = 1;
  for (unsigned d = dim + 1; d < layout.rank(); ++d)
    stride *= layout.hull(d);
  int64_t reach = run;
  if (run == layout.contiguous(dim) || run == 1)
    for (uint32_t basis : layout.bases(Axis::Lane))
      if (int64_t(basis) == reach * stride)
        reach *= 2;
  if (run < layout.contiguous(dim) && run > 1)
    reach = run; // lanes continue behind the next runs
  reach = std::min<int64_t>(reach, std::max<int64_t>(axes_.at(pointers).contiguity[dim], 1));
  return std::min<unsigned>(128, unsigned(reach) * bitsOf(pointers.getType()) / 8);
}

bool LayoutChoice::derive(Operation *op) {
  auto open = [&](Value value) {
    return isTile(value) && classes_.isData(value) && !chosen_.contains(classes_.leader(value));
  };
  auto known = [&](Value value) {
    return isTile(value) && classes_.isData(value) && chosen_.contains(classes_.leader(value));
  };
  if (auto dot = dyn_cast<DotOp>(op); dot && open(dot.getResult())) {
    auto type = cast<RankedTensorType>(dot.getType());
    chosen_.try_emplace(classes_.leader(dot.getResult()), layout::dotBlocked(type.getShape().vec(), warps_));
    return true;
  }
  if (op->getNumResults() && op->getNumOperands() && open(op->getResult(0)) && known(op->getOperand(0)))
    if (std::optional<Layout> natural = naturalResult(op, of(op->getOperand(0)))) {
      chosen_.try_emplace(classes_.leader(op->getResult(0)), *natural);
      return true;
    }
  // A view that is read in a known layout wants its source in the matching one.
  for (Value operand : op->getOperands()) {
    Operation *view = operand.getDefiningOp();
    if (!isTile(operand) || !view || classes_.kind(operand) != Kind::View || !isElementwise(op) ||
        !op->getNumResults() || !known(op->getResult(0)))
      continue;
    std::optional<Layout> wanted = of(op->getResult(0));
    while (view && wanted && isa<ExpandDimsOp, BroadcastOp>(view)) {
      wanted = naturalOperand(view, *wanted);
      operand = view->getOperand(0);
      view = operand.getDefiningOp();
    }
    if (wanted && open(operand)) {
      chosen_.try_emplace(classes_.leader(operand), *wanted);
      return true;
    }
  }
  return false;
}

std::optional<Layout> naturalResult(Operation *op, const Layout &operand) {
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return isTile(op->getResult(0)) ? std::optional(operand.sliced(reduce.getAxis())) : std::nullopt;
  if (auto trans = dyn_cast<TransOp>(op))
    return operand.transposed(std::span<const int32_t>(trans.getOrder().data(), trans.getOrder().size()));
  if (isa<ReshapeOp>(op))
    return operand.reshaped(shapeOf(op->getResult(0).getType()).vec());
  if (isa<JoinOp>(op))
    return operand.joined();
  if (isa<SplitOp>(op)) {
    auto halves = operand.split();
    return halves ? std::optional(halves->first) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<Layout> naturalOperand(Operation *op, const Layout &result) {
  if (auto expand = dyn_cast<ExpandDimsOp>(op))
    return result.sliced(expand.getAxis());
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    Layout layout = result;
    auto from = shapeOf(broadcast.getValue().getType()), to = shapeOf(broadcast.getType());
    for (unsigned d = 0; d != from.size(); ++d)
      if (from[d] != to[d])
        layout = layout.narrowed(d);
    return layout;
  }
  if (auto trans = dyn_cast<TransOp>(op)) {
    std::vector<int32_t> inverse(trans.getOrder().size());
    for (auto [to, from] : llvm::enumerate(trans.getOrder()))
      inverse[from] = int32_t(to);
    return result.transposed(inverse);
  }
  if (isa<ReshapeOp>(op))
    return result.reshaped(shapeOf(op->getOperand(0).getType()).vec());
  return std::nullopt;
}

} // namespace tegula::convert
