// cp.async.bulk and cp.async.bulk.tensor from global to shared memory: copies by the asynchronous proxy,
// whose bytes count at an mbarrier. When they arrive is the choice of an adversary (Launch::copies) between
// the issue and the end of the phase; until then the destination holds poison. PTX ISA manual,
// "cp.async.bulk", "cp.async.bulk.tensor"; "Tensor Tiled Mode", "Swizzling Modes".
//
// Readings of the manual, the stricter each: the lane that initialised the mbarrier has executed
// fence.mbarrier_init or fence.proxy.async; a block does not end before its copies.
#include "ptxvm/exec/Boxes.h"

#include <algorithm>
#include <cstring>

namespace tegula::ptxvm {
namespace {

constexpr int poison = 0xff; // of floats a NaN

std::vector<BulkPart> partsOf(const BulkCopy &copy) {
  std::vector<BulkPart> parts;
  for (const BulkPiece &piece : copy.pieces)
    parts.push_back({piece.shared, reinterpret_cast<uint64_t>(piece.global), piece.bytes});
  return parts;
}

void land(Block &block, size_t index) {
  BulkCopy copy = std::move(block.bulkCopies[index]);
  block.bulkCopies.erase(block.bulkCopies.begin() + ptrdiff_t(index));
  for (const BulkPiece &piece : copy.pieces) {
    std::byte *to = block.shared.data() + piece.shared;
    if (piece.global)
      std::memcpy(to, piece.global, piece.bytes);
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

void issueOne(Warp &w, const Op &op, unsigned lane) {
  Block &block = *w.block;
  const BulkOp &form = block.program().bulks[op.detail];
  std::byte *at = resolveOne(w, op, block.program().accesses[form.barrier], lane);
  std::optional<BulkMove> move = at ? moveOf(w, op, form, lane, AccessKind::Load) : std::nullopt;
  if (!move)
    return;
  BulkCopy copy{op.instruction, w.index,     lane, block.nextBulk++, uint64_t(at - block.shared.data()),
                move->bytes,    move->pieces};
  auto barrier = block.phaseBarriers.find(copy.barrier);
  if (barrier == block.phaseBarriers.end())
    return addFinding(w, op, lane, FindingKind::PhaseMisuse,
                      "no mbarrier lives at byte " + std::to_string(copy.barrier) +
                          " of shared memory: it was not initialised, or it has ended");
  if (!barrier->second.isFenced)
    addFinding(
        w, op, lane, FindingKind::MissingFence,
        "arrives at an mbarrier, and neither fence.mbarrier_init nor fence.proxy.async lies behind its "
        "initialization",
        Site{barrier->second.instruction, block.id, barrier->second.warp, barrier->second.lane});
  // The bytes count as initialised, and as nobody else's.
  for (const BulkPiece &piece : copy.pieces)
    tellAccess(w, op.instruction, lane, piece, Space::Shared, AccessKind::Store);
  std::vector<BulkPart> parts = partsOf(copy);
  for (Observer *observer : block.observers())
    observer->bulkIssued(idOf(w), {op.instruction, lane, copy.barrier, parts});
  for (const BulkPiece &piece : copy.pieces)
    std::memset(block.shared.data() + piece.shared, poison, piece.bytes);
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

void lowerBulkCopy(Lowering &l) { lowerBulk(l, issue, {.shared = 0, .global = 1, .size = 2, .barrier = 3}); }
void lowerTensorCopy(Lowering &l) { lowerTensor(l, issue, {.shared = 0, .global = 1, .barrier = 2}); }

} // namespace tegula::ptxvm
