#include "ir/simt/Scratch.h"
#include "ir/simt/KnownIndices.h"

#include "ir/tile/Branches.h"
#include "ir/tile/Volatile.h"
#include "layout/Queries.h"

using namespace mlir;
using namespace tegula::tile;
using tegula::layout::Axis;
using tegula::layout::Layout;

namespace tegula::simt {

unsigned storedBits(Type element) {
  if (isa<PointerType>(element))
    return 64;
  return std::max(8u, element.getIntOrFloatBitWidth());
}

unsigned registersOf(Type tile) {
  auto type = dyn_cast<RankedTensorType>(tile);
  if (!type || !type.getEncoding())
    return 0;
  return unsigned(layoutOf(type).liveRegisters().size()) * storedBits(type.getElementType()) / 32;
}

// Each thread reads what all warps have of its results, and combines that; or each combines as many results
// as there are for a thread, the threads meet once more, and read what they hold.
static bool paysToDivide(ReduceOp op, const Layout &result, unsigned warps, unsigned part) {
  constexpr layout::ConversionCosts costs;
  const std::vector<uint32_t> &registers = result.bases(Axis::Register);
  if (result.hasPadding() || tile::runsOneByOne(op.getCombine()) || llvm::is_contained(registers, 0u))
    return false;
  int held = int(result.size(Axis::Register)), others = int(warps) - 1;
  int combined = others * (held - int(part)), moved = held * int(warps) - (int(part) * int(warps) + 1 + held);
  return int(op.getNumOperands()) * (combined + moved * int(costs.wavefront)) >
         int(costs.barrier + costs.sharedLatency);
}

ReduceScratch::ReduceScratch(ReduceOp op) {
  Layout source = layoutOf(op.getOperands()[0]);
  unsigned axis = unsigned(op.getAxis()), shift = 0;
  for (unsigned d = axis + 1; d != source.rank(); ++d)
    shift += source.hullBits(d);
  uint32_t along = uint32_t((uint64_t(1) << source.hullBits(axis)) - 1) << shift;
  auto bits = [&](Axis hardware) {
    uint32_t result = 0;
    for (auto [i, basis] : llvm::enumerate(source.bases(hardware)))
      if (basis & along)
        result |= 1u << i;
    return result & ~source.freeBits(hardware); // those bits lead to elements that the thread has already
  };
  laneBits = bits(Axis::Lane);
  warpBits = bits(Axis::Warp);
  warps = 1u << llvm::popcount(warpBits);
  if (warps == 1)
    return;
  uint64_t results = uint64_t(1) << source.sliced(axis).totalBits();
  auto reserve = [&](unsigned size) {
    elementBytes.push_back(size);
    offsets.push_back(bytes);
    bytes += llvm::alignTo(results * warps * size, 16);
  };
  for (Value operand : op.getOperands())
    reserve(storedBits(elementType(operand.getType())) / 8);
  if (source.extents()[axis] != source.hull(axis)) {
    reserve(1);
    return;
  }
  uint64_t threads = uint64_t(1) << (layout::laneBits + source.bases(Axis::Warp).size());
  unsigned share = unsigned(std::max<uint64_t>(1, results / threads));
  if (!paysToDivide(op, source.sliced(axis), warps, share))
    return;
  part = share;
  for (unsigned size : elementBytes) {
    whole.push_back(bytes);
    bytes += llvm::alignTo(results * size, 16);
  }
}

unsigned ScanLevel::mask() const {
  unsigned result = 0;
  for (unsigned bit : bits)
    result |= bit;
  return result;
}

ScanScratch::ScanScratch(ScanOp op) {
  Layout source = layoutOf(op.getOperands()[0]);
  unsigned axis = unsigned(op.getAxis());
  allBits = uint32_t((uint64_t(1) << source.totalBits()) - 1);
  bool oneByOne = tile::runsOneByOne(op.getCombine());
  for (unsigned d = 0; d != source.rank(); ++d)
    hasValidity |= (oneByOne || (op.getReverse() && d == axis)) && source.extents()[d] != source.hull(d);
  for (Value operand : op.getOperands())
    elementBytes.push_back(storedBits(elementType(operand.getType())) / 8);
  if (hasValidity)
    elementBytes.push_back(1);
  std::map<uint32_t, std::pair<Axis, unsigned>> steps; // by stride
  for (Axis hardware : {Axis::Register, Axis::Lane, Axis::Warp})
    for (layout::Step1D step : layout::bitsAlong(source, hardware, axis))
      steps[step.stride] = {hardware, 1u << step.bit};
  uint32_t below = 0;
  for (auto [stride, step] : steps) {
    if (levels.empty() || levels.back().axis != step.first)
      levels.push_back({step.first, {}, 0, below, {}});
    levels.back().bits.push_back(step.second);
    levels.back().image |= stride << source.shift(axis);
    below |= stride << source.shift(axis);
  }
  for (ScanLevel &level : levels)
    for (unsigned size : elementBytes) {
      if (level.axis != Axis::Warp)
        break;
      level.offsets.push_back(bytes);
      bytes += llvm::alignTo(uint64_t(size) << llvm::popcount(allBits & ~level.below), 16);
    }
}

unsigned gatheredPitch(GatherOp op) {
  constexpr unsigned shortest = 64, between = 16; // bytes
  Layout source = layoutOf(op.getSource());
  unsigned row = unsigned(source.hull(source.rank() - 1)), bytes = storedBits(elementType(op.getType())) / 8;
  bool isSpread = source.rank() > 1 && row * bytes >= shortest && !mixesBanks(op);
  return row + (isSpread ? between / bytes : 0);
}

bool canGatherInWarp(GatherOp op) {
  Layout source = layoutOf(op.getSource()), result = layoutOf(op.getResult());
  unsigned axis = unsigned(op.getAxis());
  bool withinWarp =
      layout::axisInWarp(source, axis) && source.bases(Axis::Lane).size() == result.bases(Axis::Lane).size();
  for (Axis hardware : {Axis::Register, Axis::Lane, Axis::Warp})
    for (uint32_t basis : source.bases(hardware))
      withinWarp &= basis == 0 || llvm::isPowerOf2_32(basis);
  for (uint32_t basis : source.bases(Axis::Register))
    withinWarp &= basis != 0;
  // Bits of other coordinates that the source gives to warps are the same warps' in the result.
  auto place = [&](uint32_t basis) { // in the result's flat coordinates
    std::vector<int64_t> at = source.coordinates(basis);
    at[axis] = 0;
    return result.flatten(at);
  };
  const auto &from = source.bases(Axis::Warp), &to = result.bases(Axis::Warp);
  for (unsigned i = 0; i != from.size() && withinWarp; ++i) {
    if (from[i] == 0)
      continue;
    uint32_t wanted = place(from[i]);
    withinWarp &= i < to.size() && to[i] == wanted;
    for (Axis hardware : {Axis::Register, Axis::Lane, Axis::Warp})
      for (unsigned k = 0; k != result.bases(hardware).size(); ++k)
        if (!(hardware == Axis::Warp && k == i))
          withinWarp &= (result.bases(hardware)[k] & wanted) == 0;
  }
  return withinWarp;
}

std::optional<Layout> concatenated(const Layout &operand, CatOp op) {
  if (op.getLhs().getType().getShape() != op.getRhs().getType().getShape())
    return std::nullopt;
  // A dimension of two halves in front of the axis, then both as one.
  std::vector<int32_t> order;
  for (unsigned d = 0; d != operand.rank(); ++d) {
    if (d == unsigned(op.getAxis()))
      order.push_back(int32_t(operand.rank()));
    order.push_back(int32_t(d));
  }
  return operand.joined().transposed(order).reshaped(shapeOf(op.getType()).vec());
}

layout::ConversionPlan planOf(ConvertOp op) {
  std::optional<layout::ConversionPlan> plan =
      layout::planAsChosen(op.getPlan()->choice(), layoutOf(op.getValue()), layoutOf(op.getResult()),
                           storedBits(elementType(op.getType())));
  assert(plan && "verified");
  return std::move(*plan);
}

// What an atomic or a volatile load found, where threads that did not take the step want it.
static uint64_t atomicBytes(Operation *op) {
  if (op->use_empty())
    return 0;
  Type type = op->getResult(0).getType();
  unsigned bytes = storedBits(elementType(type)) / 8;
  if (!isa<RankedTensorType>(type))
    return bytes;
  Layout layout = layoutOf(type);
  bool everyThread =
      layout.bases(Axis::Lane).size() == layout::laneBits && layout.size(Axis::Warp) == warpsOf(op);
  bool copies = !everyThread || layout.freeBits(Axis::Lane) || layout.freeBits(Axis::Warp);
  return copies ? (uint64_t(1) << layout.totalBits()) * bytes : 0;
}

uint64_t scratchBytes(Operation *op) {
  if (isa<AtomicRMWOp, AtomicCASOp>(op) || (isa<LoadOp>(op) && isVolatile(op)))
    return atomicBytes(op);
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return ReduceScratch(reduce).bytes;
  if (auto histogram = dyn_cast<HistogramOp>(op))
    return uint64_t(layoutOf(histogram.getResult()).hull(0)) * 4;
  if (auto cat = dyn_cast<CatOp>(op)) {
    Layout operand = layoutOf(cat.getLhs());
    bool isRenaming =
        operand == layoutOf(cat.getRhs()) && concatenated(operand, cat) == layoutOf(cat.getResult());
    auto type = cast<RankedTensorType>(cat.getType());
    return isRenaming ? 0 : uint64_t(type.getNumElements()) * storedBits(type.getElementType()) / 8;
  }
  if (auto scan = dyn_cast<ScanOp>(op))
    return ScanScratch(scan).bytes;
  if (auto gather = dyn_cast<GatherOp>(op)) {
    Layout source = layoutOf(gather.getSource());
    uint64_t rows = (uint64_t(1) << source.totalBits()) / unsigned(source.hull(source.rank() - 1));
    unsigned bytes = storedBits(elementType(gather.getType())) / 8;
    return op->hasAttr(inWarpName) ? 0 : rows * gatheredPitch(gather) * bytes;
  }
  if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    auto type = cast<RankedTensorType>(reshape.getType());
    bool linear =
        layoutOf(reshape.getValue()).reshaped(type.getShape().vec()) == layoutOf(reshape.getResult());
    return linear ? 0 : uint64_t(type.getNumElements()) * storedBits(type.getElementType()) / 8;
  }
  if (auto convert = dyn_cast<ConvertOp>(op))
    return convert.isThroughShared() ? convert.getPlan()->getScratchBytes() : 0;
  return 0;
}

} // namespace tegula::simt
