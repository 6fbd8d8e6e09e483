// cp.async.bulk and cp.async.bulk.tensor from global to shared memory: copies by the asynchronous proxy,
// whose bytes count at an mbarrier. When they arrive is the choice of an adversary (Launch::copies) between
// the issue and the end of the phase; until then the destination holds poison. PTX ISA manual,
// "cp.async.bulk", "cp.async.bulk.tensor"; "Tensor Tiled Mode", "Swizzling Modes".
//
// Readings of the manual, the stricter each: the lane that initialised the mbarrier has executed
// fence.mbarrier_init or fence.proxy.async; a block does not end before its copies.
#include "ptxvm/exec/LowerAccess.h"
#include "ptxvm/exec/TensorMap.h"
#include "ptxvm/exec/Warp.h"

#include <algorithm>
#include <cstring>

namespace tegula::ptxvm {
namespace {

constexpr unsigned unit = 16;             // bytes
constexpr unsigned tensorAlignment = 128; // of a tensor copy's destination
constexpr int poison = 0xff;              // of floats a NaN

void add(Warp &w, const Op &op, unsigned lane, FindingKind kind, std::string message,
         std::optional<Site> other = std::nullopt) {
  w.block->findings().add(kind, std::move(message), siteOf(w, op.instruction, lane), other);
}

// The bytes of one lane's access; null: reported.
std::byte *resolveOne(Warp &w, const Op &op, AccessForm access, unsigned lane) {
  std::byte *bytes[warpSize] = {};
  return resolve(w, op, access, 1u << lane, nullptr, bytes) ? bytes[lane] : nullptr;
}

// ---- what is copied ----

bool isReadable(Warp &w, const Op &op, unsigned lane, uint64_t address, uint64_t bytes) {
  if (findRange(w.block->program(), address, bytes))
    return true;
  add(w, op, lane, FindingKind::OutOfBounds,
      "copies " + std::to_string(bytes) + " bytes of global memory that are in no buffer");
  return false;
}

uint64_t swizzled(uint64_t offset, unsigned swizzle) {
  return swizzle ? offset ^ (offset >> 3 & (swizzle / unit - 1) << 4) : offset;
}

// A row of a box: `row` is null where it lies outside of the tensor.
void addRow(BulkCopy &copy, const TensorMap &map, uint64_t to, const std::byte *row, int64_t x) {
  int64_t size = map.elementBytes, begin = x * size, end = int64_t(map.extents[0]) * size;
  for (int64_t at = 0; at < map.rowBytes();) {
    bool isInside = row && begin + at >= 0 && begin + at < end;
    // To where inside and outside meet, at most to the next piece that is swizzled by itself.
    int64_t next = (at / unit + 1) * unit;
    for (int64_t edge : {-begin, end - begin})
      if (row && edge > at)
        next = std::min(next, edge);
    copy.pieces.push_back({swizzled(to + uint64_t(at), map.swizzle), isInside ? row + begin + at : nullptr,
                           uint32_t(next - at)});
    at = next;
  }
}

// Rows of the box, innermost first; false: reported.
bool addBox(Warp &w, const Op &op, unsigned lane, const BulkOp &form, uint64_t to, BulkCopy &copy) {
  const std::byte *bytes = resolveOne(w, op, w.block->program().accesses[form.from], lane);
  if (!bytes)
    return false;
  TensorMap map;
  std::memcpy(&map, bytes, sizeof map);
  unsigned rank = unsigned(form.places.size());
  if (std::string problem = problemOf(map, rank); !problem.empty()) {
    add(w, op, lane, FindingKind::BadOperand, "its tensor map " + problem);
    return false;
  }
  std::array<int64_t, TensorMap::most> corner{};
  for (unsigned d = 0; d < rank; ++d)
    corner[d] = int32_t(w.lanes<uint32_t>(form.places[d])[lane]);
  copy.bytes = map.boxBytes();
  uint64_t rows = copy.bytes / map.rowBytes();
  for (uint64_t number = 0; number < rows; ++number) {
    uint64_t rest = number, address = map.address;
    bool isInside = true;
    for (unsigned d = 1; d < rank; ++d) {
      int64_t at = corner[d] + int64_t(rest % map.box[d]);
      rest /= map.box[d];
      isInside &= at >= 0 && at < int64_t(map.extents[d]);
      address += uint64_t(at) * map.strides[d - 1];
    }
    // Of a row what lies in the box.
    int64_t first = std::clamp<int64_t>(corner[0], 0, map.extents[0]),
            behind = std::clamp<int64_t>(corner[0] + map.box[0], 0, map.extents[0]);
    isInside &= first != behind;
    if (isInside && !isReadable(w, op, lane, address + uint64_t(first) * map.elementBytes,
                                uint64_t(behind - first) * map.elementBytes))
      return false;
    addRow(copy, map, to + number * map.rowBytes(),
           isInside ? reinterpret_cast<const std::byte *>(address) : nullptr, corner[0]);
  }
  return true;
}

bool addBytes(Warp &w, const Op &op, unsigned lane, const BulkOp &form, uint64_t to, BulkCopy &copy) {
  copy.bytes = w.lanes<uint32_t>(form.places[0])[lane];
  if (copy.bytes % unit) {
    add(w, op, lane, FindingKind::BadOperand,
        "copies " + std::to_string(copy.bytes) + " bytes, which are no multiple of 16");
    return false;
  }
  AccessForm source = w.block->program().accesses[form.from];
  source.size = uint32_t(std::max<uint64_t>(copy.bytes, 1));
  const std::byte *from = resolveOne(w, op, source, lane);
  if (from && copy.bytes)
    copy.pieces.push_back({to, from, uint32_t(copy.bytes)});
  return from;
}

// ---- its way ----

std::vector<BulkPart> partsOf(const BulkCopy &copy) {
  std::vector<BulkPart> parts;
  for (const BulkPiece &piece : copy.pieces)
    parts.push_back({piece.to, reinterpret_cast<uint64_t>(piece.from), piece.bytes});
  return parts;
}

void land(Block &block, size_t index) {
  BulkCopy copy = std::move(block.bulkCopies[index]);
  block.bulkCopies.erase(block.bulkCopies.begin() + ptrdiff_t(index));
  for (const BulkPiece &piece : copy.pieces) {
    std::byte *to = block.shared.data() + piece.to;
    if (piece.from)
      std::memcpy(to, piece.from, piece.bytes);
    else
      std::memset(to, 0, piece.bytes);
  }
  std::vector<BulkPart> parts = partsOf(copy);
  for (Observer *observer : block.observers())
    observer->bulkCompletes({block.worker->index, block.linear, copy.warp},
                            {copy.instruction, copy.lane, copy.barrier, parts});
  block.phaseBarriers.at(copy.barrier).bytes -= int64_t(copy.bytes);
  completePhase(block, copy.barrier);
}

// Tells observers of what is written: it is initialised, and nobody else's.
void tellWrites(Warp &w, const Op &op, unsigned lane, const BulkCopy &copy) {
  for (const BulkPiece &piece : copy.pieces) {
    uint64_t addresses[warpSize] = {};
    std::byte *bytes[warpSize] = {};
    addresses[lane] = piece.to;
    bytes[lane] = w.block->shared.data() + piece.to;
    MemoryEvent event;
    event.instruction = op.instruction;
    event.space = Space::Shared;
    event.kind = AccessKind::Store;
    event.isBulk = true;
    event.width = piece.bytes;
    event.mask = 1u << lane;
    event.addresses = addresses;
    event.bytes = bytes;
    for (Observer *observer : w.block->observers())
      observer->memory(idOf(w), event);
  }
}

void issueOne(Warp &w, const Op &op, unsigned lane) {
  Block &block = *w.block;
  const BulkOp &form = block.program().bulks[op.detail];
  const AccessForm *accesses = block.program().accesses.data();
  std::byte *at = resolveOne(w, op, accesses[form.barrier], lane);
  std::byte *to = at ? resolveOne(w, op, accesses[form.to], lane) : nullptr;
  if (!to)
    return;
  uint64_t first = uint64_t(to - block.shared.data());
  BulkCopy copy{op.instruction, w.index, lane, block.nextBulk++, uint64_t(at - block.shared.data()), 0, {}};
  if (!(form.isTensor ? addBox : addBytes)(w, op, lane, form, first, copy))
    return;
  if (first + copy.bytes > block.shared.size())
    return add(w, op, lane, FindingKind::OutOfBounds,
               "writes " + std::to_string(copy.bytes) + " bytes at byte " + std::to_string(first) +
                   " of shared memory, which has " + std::to_string(block.shared.size()));
  auto next = block.phaseBarriers.lower_bound(first + copy.bytes);
  if (next != block.phaseBarriers.begin() && std::prev(next)->first + sizeof(uint64_t) > first)
    return add(w, op, lane, FindingKind::PhaseMisuse, "writes bytes of an mbarrier that lives");
  auto barrier = block.phaseBarriers.find(copy.barrier);
  if (barrier == block.phaseBarriers.end())
    return add(w, op, lane, FindingKind::PhaseMisuse,
               "no mbarrier lives at byte " + std::to_string(copy.barrier) +
                   " of shared memory: it was not initialised, or it has ended");
  if (!barrier->second.isFenced)
    add(w, op, lane, FindingKind::MissingFence,
        "arrives at an mbarrier, and neither fence.mbarrier_init nor fence.proxy.async lies behind its "
        "initialization",
        Site{barrier->second.instruction, block.id, barrier->second.warp, barrier->second.lane});
  tellWrites(w, op, lane, copy);
  std::vector<BulkPart> parts = partsOf(copy);
  for (Observer *observer : block.observers())
    observer->bulkIssued(idOf(w), {op.instruction, lane, copy.barrier, parts});
  for (const BulkPiece &piece : copy.pieces)
    std::memset(block.shared.data() + piece.to, poison, piece.bytes);
  block.bulkCopies.push_back(std::move(copy));
  if (block.worker->run.launch.copies == Copies::AtOnce)
    land(block, block.bulkCopies.size() - 1);
}

void issue(Warp &w, const Op &op, uint32_t mask) {
  forLanes(mask, [&](unsigned i) { issueOne(w, op, i); });
}

} // namespace

bool landBulk(Block &block, size_t most) {
  size_t count = std::min(most, block.bulkCopies.size());
  for (size_t i = 0; i < count; ++i)
    land(block, 0);
  return count != 0;
}

void landSomeBulk(Block &block) {
  if (block.worker->run.launch.copies != Copies::Random)
    return;
  for (size_t i = block.bulkCopies.size(); i-- != 0;)
    if (nextRandom(block.copyRandom) % 4 == 0)
      land(block, i);
}

void abandonBulk(Block &block) {
  for (const BulkCopy &copy : block.bulkCopies)
    block.findings().add(FindingKind::CopyUnfinished, "its block ends and has not waited for it",
                         {copy.instruction, block.id, copy.warp, copy.lane});
  if (!block.bulkCopies.empty())
    return;
  for (const auto &[offset, barrier] : block.phaseBarriers)
    if (barrier.bytes)
      block.findings().add(FindingKind::CopyUnfinished,
                           barrier.bytes > 0 ? "its mbarrier still awaits " + std::to_string(barrier.bytes) +
                                                   " bytes of copies, which never come"
                                             : std::to_string(-barrier.bytes) +
                                                   " bytes came to its mbarrier that nobody announced",
                           {barrier.instruction, block.id, barrier.warp, barrier.lane});
}

namespace {

uint32_t useBulk(Lowering &l, unsigned operand, AccessKind kind, Space space, uint32_t size,
                 uint32_t alignment) {
  AccessForm access = makeAccess(l, kind, l.operand(operand), space);
  access.size = size;
  access.count = 1;
  access.alignment = alignment;
  access.isBulk = true;
  l.program.accesses.push_back(access);
  return uint32_t(l.program.accesses.size() - 1);
}

// [to], [from] or [map, {coordinates}], ..., [barrier] [, policy]
void lowerBulk(Lowering &l, BulkOp form, unsigned barrier, uint32_t alignment) {
  form.to = useBulk(l, 0, AccessKind::Prefetch, Space::Shared, 1, alignment);
  form.barrier = useBulk(l, barrier, AccessKind::Prefetch, Space::Shared, 8, 8);
  l.program.accesses[form.barrier].isBarrier = true;
  l.op.detail = uint32_t(l.program.bulks.size());
  l.op.run = issue;
  l.program.bulks.push_back(std::move(form));
}

} // namespace

void lowerBulkCopy(Lowering &l) {
  BulkOp form;
  form.from = useBulk(l, 1, AccessKind::Load, Space::Global, 1, unit);
  form.places.push_back(l.place(2, Type::U32));
  lowerBulk(l, std::move(form), 3, unit);
}
void lowerTensorCopy(Lowering &l) {
  BulkOp form;
  form.isTensor = true;
  form.from = useBulk(l, 1, AccessKind::Load, Space::Generic, sizeof(TensorMap), 64);
  const Operand &map = l.operand(1);
  for (uint32_t i = 1; i < map.count; ++i)
    form.places.push_back(l.place(l.kernel().parts[map.first + i], Type::U32));
  lowerBulk(l, std::move(form), 2, tensorAlignment);
}

} // namespace tegula::ptxvm
