// cp.async and its groups: copies from global to shared memory that go on behind the instruction. When
// the bytes arrive is the choice of an adversary (Launch::copies) between the issue and the moment when
// the lane has waited; until then the destination holds poison. Groups are each lane's own. PTX ISA
// manual, "cp.async", "cp.async.commit_group", "cp.async.wait_group / cp.async.wait_all".
#include "ptxvm/exec/LowerAccess.h"
#include "ptxvm/exec/Warp.h"

#include <algorithm>
#include <cstring>

namespace tegula::ptxvm {
namespace {

constexpr int poison = 0xff; // of floats a NaN

CopyEvent eventOf(const Copy &copy, uint32_t mask) {
  return {copy.instruction, copy.number,      mask, copy.width, copy.to.data(),
          copy.from.data(), copy.sizes.data()};
}

void land(Block &block, Copy &copy, uint32_t mask) {
  mask &= ~copy.landed;
  copy.landed |= mask;
  forLanes(mask, [&](unsigned i) {
    std::byte *to = block.shared.data() + copy.to[i];
    if (copy.sizes[i])
      std::memcpy(to, reinterpret_cast<const std::byte *>(copy.from[i]), copy.sizes[i]);
    std::memset(to + copy.sizes[i], 0, copy.width - copy.sizes[i]);
  });
}

// Finds how many bytes each lane reads.
void readSizes(Warp &w, const Op &op, uint32_t mask, Copy &copy) {
  copy.sizes.fill(copy.width);
  if (op.p != nowhere) { // ignore-src
    uint32_t ignored = w.predicates[op.p] ^ (op.flag ? allLanes : 0);
    forLanes(mask & ignored, [&](unsigned i) { copy.sizes[i] = 0; });
  }
  if (op.a == nowhere)
    return;
  const uint32_t *sizes = w.lanes<uint32_t>(op.a);
  uint32_t wrong = 0;
  forLanes(mask, [&](unsigned i) {
    wrong |= uint32_t(sizes[i] > copy.width) << i;
    copy.sizes[i] = std::min(sizes[i], copy.width);
  });
  if (wrong)
    w.block->findings().add(FindingKind::BadOperand,
                            "reads " + std::to_string(sizes[firstLane(wrong)]) + " bytes for a copy of " +
                                std::to_string(copy.width),
                            siteOf(w, op.instruction, firstLane(wrong)));
}

// The sources of the lanes, those that read the same number of bytes together; one that may not be read
// counts as zeros.
void resolveSources(Warp &w, const Op &op, uint32_t mask, Copy &copy) {
  AccessForm access = w.block->program().accesses[op.detail + 1];
  std::byte *bytes[warpSize] = {};
  while (mask) {
    uint32_t size = copy.sizes[firstLane(mask)], same = 0;
    forLanes(mask, [&](unsigned i) { same |= uint32_t(copy.sizes[i] == size) << i; });
    mask &= ~same;
    if (!size)
      continue;
    access.size = size;
    uint32_t kept = resolve(w, op, access, same, nullptr, bytes);
    forLanes(same & ~kept, [&](unsigned i) { copy.sizes[i] = 0; });
    forLanes(kept, [&](unsigned i) { copy.from[i] = reinterpret_cast<uint64_t>(bytes[i]); });
  }
}

void copyAsync(Warp &w, const Op &op, uint32_t mask) {
  Block &block = *w.block;
  const AccessForm &access = block.program().accesses[op.detail];
  Copy copy;
  copy.instruction = op.instruction;
  copy.width = access.size;
  readSizes(w, op, mask, copy);
  resolveSources(w, op, mask, copy);
  // The bytes as they are now tell whether lanes that copy to one place copy the same.
  alignas(16) std::byte data[warpSize * 16] = {};
  forLanes(mask, [&](unsigned i) {
    if (copy.sizes[i])
      std::memcpy(data + i * copy.width, reinterpret_cast<const std::byte *>(copy.from[i]), copy.sizes[i]);
  });
  std::byte *bytes[warpSize];
  mask = resolve(w, op, access, mask, data, bytes);
  if (!mask)
    return;
  copy.number = block.nextCopy++;
  copy.pending = mask;
  copy.group = w.committed;
  forLanes(mask, [&](unsigned i) { copy.to[i] = uint64_t(bytes[i] - block.shared.data()); });
  if (block.worker->run.launch.copies == Copies::AtOnce)
    land(block, copy, mask);
  else
    forLanes(mask, [&](unsigned i) { std::memset(bytes[i], poison, copy.width); });
  for (Observer *observer : block.observers())
    observer->copyIssued(idOf(w), eventOf(copy, mask));
  w.copies.push_back(copy);
}

void commit(Warp &w, const Op &, uint32_t mask) {
  forLanes(mask, [&](unsigned i) { ++w.committed[i]; });
}

// op.value: how many of a lane's last groups may go on; op.flag: also what is in no group yet is waited for.
void wait(Warp &w, const Op &op, uint32_t mask) {
  if (op.flag)
    commit(w, op, mask);
  for (Copy &copy : w.copies) {
    uint32_t done = 0;
    forLanes(mask & copy.pending,
             [&](unsigned i) { done |= uint32_t(w.committed[i] - copy.group[i] > op.value) << i; });
    if (!done)
      continue;
    land(*w.block, copy, done);
    copy.pending &= ~done;
    for (Observer *observer : w.block->observers())
      observer->copyCompletes(idOf(w), eventOf(copy, done), true);
  }
  std::erase_if(w.copies, [](const Copy &copy) { return !copy.pending; });
}

} // namespace

void landSome(Block &block) {
  if (block.worker->run.launch.copies != Copies::Random)
    return;
  for (Warp &warp : block.warps)
    for (Copy &copy : warp.copies)
      if (uint64_t dice = nextRandom(block.copyRandom); dice & 1)
        land(block, copy, copy.pending & uint32_t(dice >> 32));
}

void abandonCopies(Warp &w, uint32_t mask) {
  for (Copy &copy : w.copies) {
    uint32_t left = copy.pending & mask;
    copy.pending &= ~mask;
    if (left)
      for (Observer *observer : w.block->observers())
        observer->copyCompletes(idOf(w), eventOf(copy, left), false);
  }
  std::erase_if(w.copies, [](const Copy &copy) { return !copy.pending; });
}

void lowerCopyAsync(Lowering &l) { // [to], [from], size [, source's size or predicate] [, policy]
  AccessForm to = makeAccess(l, AccessKind::Store, l.operand(0), Space::Shared);
  AccessForm from = makeAccess(l, AccessKind::Load, l.operand(1), Space::Global);
  to.size = from.size = from.alignment = uint32_t(l.operand(2).value);
  to.count = from.count = 1;
  to.isCopy = from.isCopy = true;
  const Form &form = *l.instruction.form;
  using Kind = OperandSpec::Kind;
  if (form.specs[3].kind == Kind::PredicateIn)
    l.op.p = l.predicate(l.operand(3), l.op.flag);
  else if (!form.specs[3].isOptional)
    l.op.a = l.place(3, Type::U32);
  useAccess(l, to, copyAsync);
  l.program.accesses.push_back(from);
}
void lowerCommitGroup(Lowering &l) { l.op.run = commit; }
void lowerWaitGroup(Lowering &l) {
  l.op.flag = l.has(Modifier::waitAll);
  l.op.value = l.op.flag ? 0 : uint32_t(l.operand(0).value);
  l.op.run = wait;
}

} // namespace tegula::ptxvm
