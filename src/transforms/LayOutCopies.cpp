#include "transforms/LayOutCopies.h"
#include "ir/simt/Scratch.h"
#include "ir/tile/Elementwise.h"
#include "layout/Builders.h"
#include "layout/MatrixAccess.h"
#include "layout/OperandTile.h"
#include "layout/Queries.h"
#include "transforms/OperandsInShared.h"
#include "transforms/OtherLayout.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tegula::tile;
using tegula::layout::Layout;

namespace tegula::transforms {

namespace {

// Do only products by instructions of several warps read the tile? They read shared memory by themselves,
// so that lanes need not exchange even a tile so small that it would stay within each warp.
bool feedsSeveralWarps(Value tile) {
  return !tile.use_empty() && llvm::all_of(tile.getUsers(), [](Operation *user) {
    if (auto trans = dyn_cast<TransOp>(user))
      return feedsSeveralWarps(trans.getResult());
    auto matrix = user->getAttrOfType<simt::MatrixAttr>(simt::matrixName);
    return matrix && matrix.getWarps() > 1;
  });
}

bool exchangesLanes(simt::ConvertOp convert) {
  return convert.getPlan() && convert.getPlan()->getKind() == simt::ConversionAttr::Kind::Shuffle;
}

// Elements of one access, where a thread owns as many neighbours.
unsigned widestOf(LoadOp load) {
  auto widest = load->getAttrOfType<IntegerAttr>(simt::widestName);
  return unsigned((widest ? widest : load->getAttrOfType<IntegerAttr>(simt::widthName)).getInt());
}

// Accesses of a thread that move the tile.
unsigned accessesOf(const Layout &layout, unsigned width) {
  return std::max(layout.size(layout::Axis::Register) / width, 1u);
}

// Copies pass by the first cache: where an access of a warp moves short runs, of a tile that lies as a
// product gives it, or has gaps, since a thread's neighbours take several accesses, it asks for many lines
// and writes each in pieces. Returns the layout in which neighbouring lanes have neighbouring accesses, if
// the runs are longer there and the addresses can be computed in it. So where threads would hold elements
// that others hold, too (decays of a product's rows): there a copy has as many accesses as brings each once.
// A tile of which each thread has less than a copy moves is copied by some of them.
std::optional<Layout> byAccesses(LoadOp load, unsigned width, const simt::Machine &machine) {
  Layout own = simt::layoutOf(load.getType());
  unsigned fastest = layout::fastestOf(own);
  unsigned widest = widestOf(load);
  if (own.hasPadding() || !isComputable(load.getPtr()) || (load.getMask() && !isComputable(load.getMask())))
    return std::nullopt;
  SmallVector<unsigned> order{fastest};
  for (unsigned d = own.rank(); d-- != 0;)
    if (d != fastest)
      order.push_back(d);
  constexpr unsigned leastBits = 32; // of a copy
  unsigned bits = simt::storedBits(elementType(load.getType()));
  unsigned most = std::min(widest, 1u << std::countr_zero(uint64_t(own.extents()[fastest])));
  if (width * bits < leastBits && most * bits >= leastBits)
    return layout::coalescedRuns(own.extents(), order, most, simt::warpsOf(load), machine.costs.fullThreads);
  Layout lanes =
      layout::coalesced(own.extents(), order, widest, simt::warpsOf(load), machine.costs.fullThreads);
  auto run = [&](const Layout &layout, unsigned width) {
    return std::min<int64_t>(layout::runOfWarp(layout, fastest, width) * bits / 8, machine.costs.lineBytes);
  };
  unsigned atOnce = std::min(widest, lanes.contiguous(fastest));
  bool isRepeated = own.size(layout::Axis::Register) > lanes.size(layout::Axis::Register) &&
                    accessesOf(own, width) > accessesOf(lanes, atOnce) && atOnce * bits >= leastBits;
  bool runsLonger = widest > 1 && lanes.contiguous(fastest) >= width && run(own, width) < run(lanes, widest);
  if (!isRepeated && !runsLonger)
    return std::nullopt;
  return lanes;
}

// For a tile that threads read element by element: copies as wide as they can be, and of those maps the one
// that is cheapest to write and to read.
layout::SharedMap mapOfElements(const Layout &load, const Layout &read, unsigned bits, unsigned width) {
  unsigned fastest = layout::fastestOf(load);
  layout::SharedMap best = layout::swizzled(load, read, bits);
  auto rank = [&](const layout::SharedMap &map) {
    return std::pair(-int(layout::copyWidth(load, map, width)),
                     layout::wavefrontsOfTile(load, map, bits, false) +
                         layout::wavefrontsOfTile(read, map, bits, false));
  };
  for (unsigned turn : {1u, 2u, 4u})
    if (layout::SharedMap map = layout::matrixMap(load.extents(), fastest, bits, turn);
        rank(map) < rank(best))
      best = map;
  return best;
}

// `load`: the layout of the copy; `read`: of what reads it, where no conversion does.
layout::SharedMap mapFor(const Layout &load, const Layout &read, ArrayRef<simt::ConvertOp> converts,
                         unsigned bits, unsigned width, const simt::Machine &machine) {
  unsigned fastest = layout::fastestOf(load);
  layout::SharedMap best = layout::matrixMap(load.extents(), fastest, bits);
  if (llvm::any_of(converts, [&](simt::ConvertOp each) { return isReadTogether(each.getResult(), best); }))
    return best;
  if (converts.empty())
    return mapOfElements(load, read, bits, width);
  simt::ConvertOp first = converts[0];
  bool isOfMultiplyAdds = simt::feedsMultiplyAdds(first.getResult());
  Layout use = isOfMultiplyAdds ? readAtOnce(first.getResult(), machine.accessBits)
                                : simt::layoutOf(first.getResult());
  std::optional<layout::SharedMap> ofMatrices = layout::matrixMapFor(use, fastest, bits);
  if (ofMatrices && !isOfMultiplyAdds)
    return *ofMatrices;
  // Of those that occupy shared memory equally long the one that is read by fewer instructions.
  auto conflicts = [&](const layout::SharedMap &map) {
    unsigned vector = layout::accessWidth(use, map, bits), accesses = 8 / std::min(vector, 8u);
    return std::pair(layout::wavefronts(use, map, vector, bits) * accesses, accesses);
  };
  layout::SharedMap swizzled = isOfMultiplyAdds ? mapOfFactor(load, first.getResult(), machine.accessBits)
                                                : layout::swizzled(load, use, bits);
  unsigned most = layout::copyWidth(load, best, width);
  for (const layout::SharedMap &map : {layout::matrixMap(load.extents(), fastest, bits, 2),
                                       layout::matrixMap(load.extents(), fastest, bits, 4), swizzled})
    if (layout::copyWidth(load, map, width) == most && conflicts(map) < conflicts(best))
      best = map;
  return best;
}

} // namespace

bool isReadTogether(Value tile, const layout::SharedMap &map, bool isTransposed) {
  return llvm::any_of(tile.getUses(), [&](OpOperand &use) {
    if (auto trans = dyn_cast<TransOp>(use.getOwner()))
      return isReadTogether(trans.getResult(), map, !isTransposed);
    auto matrix = use.getOwner()->getAttrOfType<simt::MatrixAttr>(simt::matrixName);
    auto dot = dyn_cast<DotOp>(use.getOwner());
    if (!matrix || matrix.getWarps() == 1 || !dot)
      return false;
    Layout lies = simt::layoutOf(tile);
    if (isTransposed)
      lies = lies.transposed(std::vector<int32_t>{1, 0});
    return layout::planOperandTile(lies, map, isTransposed, use.getOperandNumber(),
                                   simt::layoutOf(dot.getResult()), matrix.shape())
        .has_value();
  });
}

CopiedLoad layOutCopy(LoadOp load, ArrayRef<simt::ConvertOp> converts, const simt::Machine &machine) {
  Layout own = simt::layoutOf(load.getType());
  unsigned width = unsigned(load->getAttrOfType<IntegerAttr>(simt::widthName).getInt());
  std::optional<Layout> lanes = byAccesses(load, width, machine);
  if (lanes)
    width = widestOf(load);
  const Layout &copy = lanes ? *lanes : own;
  layout::SharedMap map =
      mapFor(copy, own, converts, simt::storedBits(elementType(load.getType())), width, machine);
  width = layout::copyWidth(copy, map, width);
  return {load, std::move(map), width, std::move(lanes)};
}

bool fillsWithZeros(LoadOp load) {
  Value other = load.getOther();
  while (other && other.getDefiningOp() &&
         isa<FpToFpOp, arith::TruncFOp, arith::ExtFOp, SplatOp>(other.getDefiningOp()))
    other = other.getDefiningOp()->getOperand(0);
  return !other || matchPattern(other, m_Zero()) || matchPattern(other, m_AnyZeroFloat());
}

bool wantsCopy(simt::ConvertOp convert) {
  return convert.isThroughShared() || feedsSeveralWarps(convert.getResult());
}

SmallVector<simt::ConvertOp> convertsFromCopies(LoadOp load) {
  SmallVector<simt::ConvertOp> result, byLanes;
  for (Operation *user : load->getUsers())
    if (auto convert = dyn_cast<simt::ConvertOp>(user)) {
      if (wantsCopy(convert))
        result.push_back(convert);
      else if (exchangesLanes(convert))
        byLanes.push_back(convert);
    }
  result.append(byLanes);
  return result;
}

} // namespace tegula::transforms
