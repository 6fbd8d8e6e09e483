// Barriers of a block (PTX ISA manual, "bar, barrier"): arrival, completion, bar.red, and the
// report when nobody can go on. A lane that exited counts as arrived; with a count of threads, a
// warp counts whole.
#include "ptxvm/exec/Warp.h"

namespace tegula::ptxvm {
namespace {

bool isComplete(const Block &block, const Barrier &barrier) {
  uint64_t count = 0;
  for (size_t w = 0; w < block.warps.size(); ++w) {
    uint32_t gone = ~block.warps[w].live;
    if (!barrier.threads && (barrier.arrived[w] | gone) != allLanes)
      return false;
    if (barrier.arrived[w])
      count += unsigned(std::popcount(barrier.arrived[w] | gone));
  }
  return !barrier.threads || count >= barrier.threads;
}

void writeReduction(Warp &warp, const Op &op, uint32_t mask, const Barrier &barrier) {
  if (op.mode == 1) {
    forLanes(mask, [&](unsigned i) { writeLane(warp, op.d, false, i, barrier.popc); });
    return;
  }
  bool value = op.mode == 2 ? barrier.all : barrier.any;
  if (op.d == nowhere)
    return;
  uint32_t &predicate = warp.predicates[op.d];
  predicate = value ? predicate | mask : predicate & ~mask;
}

void complete(Block &block, uint32_t id) {
  Barrier done = std::move(block.barriers[id]);
  block.barriers[id] = Barrier();
  for (Observer *observer : block.observers())
    observer->barrierCompletes(block.worker->index, block.linear, id, done.arrived, done.waiters);
  for (size_t w = 0; w < block.warps.size(); ++w) {
    Warp &warp = block.warps[w];
    for (Group &group : warp.groups) {
      if (group.state != Group::State::AtBarrier || !(group.mask & done.waiters[w]))
        continue;
      const Op &op = block.program().ops[group.pc];
      if (op.mode)
        writeReduction(warp, op, group.mask, done);
      group.state = Group::State::Ready;
      ++group.pc;
    }
  }
}

void add(Block &block, FindingKind kind, std::string message, const Warp &warp, const Op &op, uint32_t lane) {
  block.findings().add(kind, std::move(message), siteOf(warp, op.instruction, lane));
}

} // namespace

std::string lanesText(uint32_t mask) {
  std::string text;
  for (unsigned i = 0; i < warpSize; ++i) {
    if (!(mask >> i & 1))
      continue;
    unsigned last = i;
    while (last + 1 < warpSize && (mask >> (last + 1) & 1))
      ++last;
    text += (text.empty() ? "" : ",") + std::to_string(i) + (last > i ? "-" + std::to_string(last) : "");
    i = last;
  }
  return text;
}

void releaseBarriers(Block &block) {
  for (uint32_t id = 0; id < block.barriers.size(); ++id)
    if (block.barriers[id].isBusy && isComplete(block, block.barriers[id]))
      complete(block, id);
}

void arriveAtBarrier(Warp &warp, const Op &op, uint32_t mask) {
  Block &block = *warp.block;
  unsigned first = firstLane(mask);
  const uint32_t *ids = warp.lanes<uint32_t>(op.a);
  uint32_t id = ids[first], threads = op.b == nowhere ? 0 : warp.lanes<uint32_t>(op.b)[first];
  bool differs = false;
  forLanes(mask, [&](unsigned i) {
    differs |= ids[i] != id || (op.b != nowhere && warp.lanes<uint32_t>(op.b)[i] != threads);
  });
  if (differs)
    add(block, FindingKind::BadOperand, "lanes of a warp name different barriers", warp, op, first);
  if (id >= block.barriers.size()) {
    add(block, FindingKind::BadOperand, "names barrier " + std::to_string(id) + " of 16", warp, op, first);
    id = 0;
  }
  if (threads % warpSize)
    add(block, FindingKind::BadOperand, "awaits " + std::to_string(threads) + " threads, no multiple of 32",
        warp, op, first);
  if (op.flag && mask != warp.live)
    add(block, FindingKind::DivergentBarrier,
        "lanes " + lanesText(mask) + " come to the barrier without lanes " + lanesText(warp.live & ~mask) +
            " of their warp",
        warp, op, first);
  Barrier &barrier = block.barriers[id];
  if (!barrier.isBusy) {
    barrier.isBusy = true;
    barrier.threads = threads;
    barrier.instruction = op.instruction;
    barrier.arrived.assign(block.warps.size(), 0);
    barrier.waiters.assign(block.warps.size(), 0);
  } else if (barrier.threads != threads) {
    block.findings().add(FindingKind::DivergentBarrier,
                         "awaits another number of threads than those who came before",
                         siteOf(warp, op.instruction, first), siteOf(warp, barrier.instruction));
  }
  if (barrier.arrived[warp.index] & mask)
    add(block, FindingKind::DivergentBarrier, "lanes come again before the barrier completed", warp, op,
        first);
  barrier.arrived[warp.index] |= mask;
  if (!op.flag2)
    barrier.waiters[warp.index] |= mask;
  if (op.mode) {
    uint32_t yes = (warp.predicates[op.p] ^ (op.value ? allLanes : 0)) & mask;
    barrier.popc += unsigned(std::popcount(yes));
    barrier.all &= yes == mask;
    barrier.any |= yes != 0;
  }
  for (Observer *observer : block.observers())
    observer->barrierArrives(idOf(warp), {op.instruction, id, threads, mask, !op.flag2});
  releaseBarriers(block);
}

void reportDeadlock(Block &block) {
  std::string states;
  const Warp *waiting = nullptr;
  const Group *where = nullptr;
  std::optional<Site> other;
  bool phases = false; // some wait for an mbarrier
  const PtxKernel &kernel = *block.program().kernel;
  for (const Warp &warp : block.warps) {
    states += (states.empty() ? "warp " : "; warp ") + std::to_string(warp.index) + ": ";
    if (!warp.live)
      states += "ended";
    uint32_t known = 0;
    for (const Group &group : warp.groups) {
      bool atSync = group.state == Group::State::AtSync, atPhase = group.state == Group::State::AtPhase;
      phases |= atPhase;
      states += (known ? ", lanes " : "lanes ") + lanesText(group.mask) + " at line " +
                std::to_string(kernel.instructions[group.pc].line);
      if (atPhase)
        states += " " + phaseText(block, group.barrier);
      known |= group.mask;
      if (!where || (atSync && where->state != Group::State::AtSync)) {
        waiting = &warp;
        where = &group;
      } else if (group.pc != where->pc && !other) {
        other = siteOf(warp, group.pc, firstLane(group.mask));
      }
    }
    if (uint32_t rest = warp.live & ~known)
      states += (known ? ", lanes " : "lanes ") + lanesText(rest) + " wait for those";
  }
  if (!where) {
    block.findings().add(FindingKind::Deadlock, states, {0, block.id, 0, 0});
    return;
  }
  bool atSync = where->state == Group::State::AtSync;
  if (phases) {
    block.findings().add(FindingKind::Deadlock, states, siteOf(*waiting, where->pc, firstLane(where->mask)),
                         other);
    return;
  }
  std::string message = atSync ? "lanes " + lanesText(where->members & waiting->live & ~where->mask) +
                                     " are named by the mask and do not come"
                               : "the barrier awaits threads that do not come";
  block.findings().add(atSync ? FindingKind::MaskMismatch : FindingKind::MissingBarrier,
                       message + " (" + states + ")", siteOf(*waiting, where->pc, firstLane(where->mask)),
                       other);
}

} // namespace tegula::ptxvm
