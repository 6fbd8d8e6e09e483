// mbarrier: barriers of a block whose phases end when all arrivals and all announced bytes of copies have
// come. try_wait makes its lanes wait, or not: under a random schedule it may return before, as PTX allows.
// PTX ISA manual, "Parallel Synchronization and Communication Instructions: mbarrier".
//
// Readings of the manual, the stricter each: whoever arrives when a phase awaits bytes alone arrives too
// often; an mbarrier that is initialised again has to have ended; its bytes are nobody else's while it lives.
#include "ptxvm/exec/LowerAccess.h"
#include "ptxvm/exec/Warp.h"

namespace tegula::ptxvm {
namespace {

void add(Warp &w, const Op &op, unsigned lane, FindingKind kind, std::string message,
         std::optional<Site> other = std::nullopt) {
  w.block->findings().add(kind, std::move(message), siteOf(w, op.instruction, lane), other);
}

// Calls f(lane, offset) for the lanes whose address is in shared memory and aligned.
template <class F> void forBarriers(Warp &w, const Op &op, uint32_t mask, F f) {
  alignas(8) std::byte zeros[warpSize * 8] = {};
  std::byte *bytes[warpSize] = {};
  const AccessForm &access = w.block->program().accesses[op.detail];
  bool stores = access.kind == AccessKind::Store;
  mask = resolve(w, op, access, mask, stores ? zeros : nullptr, bytes);
  const std::vector<std::byte> &shared = w.block->shared;
  forLanes(mask, [&](unsigned i) {
    if (bytes[i] < shared.data() || bytes[i] >= shared.data() + shared.size())
      return add(w, op, i, FindingKind::PhaseMisuse, "names an mbarrier that is not in shared memory");
    f(i, uint64_t(bytes[i] - shared.data()));
  });
}

// The barrier at an offset; none: reported.
PhaseBarrier *find(Warp &w, const Op &op, unsigned lane, uint64_t offset) {
  auto found = w.block->phaseBarriers.find(offset);
  if (found != w.block->phaseBarriers.end())
    return &found->second;
  add(w, op, lane, FindingKind::PhaseMisuse,
      "no mbarrier lives at byte " + std::to_string(offset) +
          " of shared memory: it was not initialised, or it has ended");
  return nullptr;
}

void init(Warp &w, const Op &op, uint32_t mask) {
  forBarriers(w, op, mask, [&](unsigned i, uint64_t offset) {
    uint32_t count = w.lanes<uint32_t>(op.a)[i];
    if (count == 0 || count > mostArrivals)
      add(w, op, i, FindingKind::BadOperand,
          "awaits " + std::to_string(count) + " arrivals, and 1 to 1048575 are allowed");
    auto [barrier, isNew] = w.block->phaseBarriers.try_emplace(offset);
    if (!isNew)
      add(w, op, i, FindingKind::PhaseMisuse, "initialises an mbarrier that lives",
          Site{barrier->second.instruction, w.block->id, barrier->second.warp, barrier->second.lane});
    barrier->second = {count, count, 0, 0, op.instruction, w.index, i, false};
    for (Observer *observer : w.block->observers())
      observer->phaseBegins(idOf(w), {op.instruction, offset});
  });
}

void end(Warp &w, const Op &op, uint32_t mask) {
  forBarriers(w, op, mask, [&](unsigned i, uint64_t offset) {
    PhaseBarrier *barrier = find(w, op, i, offset);
    if (!barrier)
      return;
    for (const BulkCopy &copy : w.block->bulkCopies)
      if (copy.barrier == offset)
        return add(w, op, i, FindingKind::PhaseMisuse, "ends an mbarrier at which a copy has yet to arrive",
                   Site{copy.instruction, w.block->id, copy.warp, copy.lane});
    for (const Warp &warp : w.block->warps)
      for (const Group &group : warp.groups)
        if (group.state == Group::State::AtPhase && group.barrier == offset)
          return add(w, op, i, FindingKind::PhaseMisuse, "ends an mbarrier at which others wait",
                     siteOf(warp, w.block->program().ops[group.pc].instruction, firstLane(group.mask)));
    w.block->phaseBarriers.erase(offset);
  });
}

void expect(Warp &w, const Op &op, unsigned lane, PhaseBarrier &barrier, uint32_t bytes) {
  barrier.bytes += bytes;
  if (bytes > mostArrivals || barrier.bytes > int64_t(mostArrivals))
    add(w, op, lane, FindingKind::BadOperand,
        "its phase awaits " + std::to_string(barrier.bytes) + " bytes, and at most 1048575 are allowed");
}

void expectOnly(Warp &w, const Op &op, uint32_t mask) {
  forBarriers(w, op, mask, [&](unsigned i, uint64_t offset) {
    if (PhaseBarrier *barrier = find(w, op, i, offset))
      expect(w, op, i, *barrier, w.lanes<uint32_t>(op.a)[i]);
  });
}

// op.a: the arrivals, or, if op.flag, the bytes of one; op.d: the state.
void arrive(Warp &w, const Op &op, uint32_t mask) {
  forBarriers(w, op, mask, [&](unsigned i, uint64_t offset) {
    PhaseBarrier *barrier = find(w, op, i, offset);
    if (!barrier)
      return;
    if (op.d != nowhere)
      w.lanes<uint64_t>(op.d)[i] = barrier->phase;
    if (op.flag)
      expect(w, op, i, *barrier, w.lanes<uint32_t>(op.a)[i]);
    uint32_t count = op.flag || op.a == nowhere ? 1 : w.lanes<uint32_t>(op.a)[i];
    if (count == 0 || count > barrier->pending) {
      add(w, op, i, FindingKind::PhaseMisuse,
          "arrives " + std::to_string(count) + " times, and its phase awaits " +
              std::to_string(barrier->pending));
      count = std::min(count, barrier->pending);
    }
    barrier->pending -= count;
    for (Observer *observer : w.block->observers())
      observer->phaseArrives(idOf(w), {op.instruction, offset});
    completePhase(*w.block, offset);
  });
}

// op.d: the predicate; op.flag: op.a is a parity, else the state that an arrival gave; op.mode: try_wait.
// Says which lanes have waited.
uint32_t poll(Warp &w, const Op &op, uint32_t mask) {
  uint32_t done = 0;
  Group *group = nullptr;
  for (Group &each : w.groups)
    if (each.mask & mask)
      group = &each;
  uint64_t told = ~uint64_t(0);
  forBarriers(w, op, mask, [&](unsigned i, uint64_t offset) {
    PhaseBarrier *barrier = find(w, op, i, offset);
    bool isDone = !barrier || (op.flag ? (barrier->phase & 1) != (w.lanes<uint32_t>(op.a)[i] & 1)
                                       : barrier->phase > w.lanes<uint64_t>(op.a)[i]);
    group->barrier = offset;
    if (!isDone)
      return;
    done |= 1u << i;
    if (barrier && told != offset)
      for (Observer *observer : w.block->observers())
        observer->phaseWaited(idOf(w), {op.instruction, offset});
    told = offset;
  });
  uint32_t &result = w.predicates[op.d];
  result = (result & ~mask) | done;
  return done;
}

void test(Warp &w, const Op &op, uint32_t mask) {
  if (poll(w, op, mask) != mask)
    landBulk(*w.block, 1); // else who asks again and again would never hear of a late one
}

void tryOnce(Warp &w, const Op &op, uint32_t mask) { poll(w, op, mask); }

void fenceOfInit(Warp &w, const Op &, uint32_t mask) { fencePhases(w, mask); }

AccessForm accessOf(Lowering &l, unsigned operand, AccessKind kind) {
  AccessForm access = makeAccess(l, kind, l.operand(operand));
  access.size = 8;
  access.count = 1;
  access.isBarrier = true;
  access.semantics = kind == AccessKind::Store ? Semantics::Weak : Semantics::Relaxed;
  access.scope = kind == AccessKind::Store ? Scope::None : Scope::Block;
  return access;
}

} // namespace

void fencePhases(Warp &w, uint32_t mask) {
  for (auto &[offset, barrier] : w.block->phaseBarriers)
    barrier.isFenced |= barrier.warp == w.index && (mask >> barrier.lane & 1);
}

void completePhase(Block &block, uint64_t offset) {
  PhaseBarrier &barrier = block.phaseBarriers.at(offset);
  if (barrier.pending || barrier.bytes)
    return;
  ++barrier.phase;
  barrier.pending = barrier.count;
  for (Observer *observer : block.observers())
    observer->phaseCompletes(block.worker->index, block.linear, offset);
  for (Warp &warp : block.warps)
    for (Group &group : warp.groups)
      if (group.state == Group::State::AtPhase && group.barrier == offset)
        group.state = Group::State::Ready; // it asks again
}

std::string phaseText(const Block &block, uint64_t offset) {
  auto found = block.phaseBarriers.find(offset);
  if (found == block.phaseBarriers.end())
    return "";
  const PhaseBarrier &barrier = found->second;
  return "waiting for the mbarrier at byte " + std::to_string(offset) + ", whose phase " +
         std::to_string(barrier.phase) + " lacks " + std::to_string(barrier.pending) + " arrivals and " +
         std::to_string(barrier.bytes) + " bytes";
}

bool isWaitOver(Warp &w, const Op &op, uint32_t mask) {
  if (w.predicates[op.d] & mask)
    return true;
  Schedule::Kind kind = w.block->worker->run.launch.schedule.kind;
  bool mayGiveUp = kind == Schedule::Kind::Random || kind == Schedule::Kind::Apart;
  return mayGiveUp && nextRandom(w.block->copyRandom) % 4 == 0;
}

void lowerPhaseInit(Lowering &l) {
  l.op.a = l.place(1, Type::U32);
  useAccess(l, accessOf(l, 0, AccessKind::Store), init);
}
void lowerPhaseEnd(Lowering &l) { useAccess(l, accessOf(l, 0, AccessKind::Store), end); }
void lowerPhaseExpect(Lowering &l) {
  l.op.a = l.place(1, Type::U32);
  useAccess(l, accessOf(l, 0, AccessKind::Atomic), expectOnly);
}
void lowerPhaseArrive(Lowering &l) {
  l.op.d = l.operand(0).kind == OperandKind::Sink ? nowhere : l.place(0, Type::B64);
  l.op.flag = l.has(Modifier::expectBytes);
  if (l.operandCount() > 2)
    l.op.a = l.place(2, Type::U32);
  useAccess(l, accessOf(l, 1, AccessKind::Atomic), arrive);
}
void lowerPhaseWait(Lowering &l) {
  bool ignored = false;
  l.op.d = l.predicate(l.operand(0), ignored);
  l.op.flag = l.has(Modifier::parity);
  l.op.a = l.place(2, l.op.flag ? Type::U32 : Type::B64);
  bool mayWait = l.has(Modifier::tryWait);
  l.op.control = mayWait ? Control::Phase : Control::Yield;
  useAccess(l, accessOf(l, 1, AccessKind::Atomic), mayWait ? tryOnce : test);
}
void lowerPhaseInitFence(Lowering &l) { l.op.run = fenceOfInit; }

} // namespace tegula::ptxvm
