// Divergence: the lanes of a warp as groups that go together. Lanes that part at a branch wait for
// each other at the branch's immediate post-dominator, as a compiler's convergence barriers make
// hardware do; until then each group runs by itself and either may run first. Lanes named by the
// mask of a .sync instruction wait for each other there. Under Schedule::Kind::Apart, as hardware
// may, lanes wait only there and at .aligned barriers.
#include "ptxvm/exec/Warp.h"

namespace tegula::ptxvm {
namespace {

bool staysApart(const Warp &warp) {
  return warp.block->worker->run.launch.schedule.kind == Schedule::Kind::Apart;
}

class Groups {
public:
  explicit Groups(Warp &warp) : w_(warp) {}

  void add(Group group) {
    // A group that already stands where it should meet the others has arrived.
    while (group.meeting >= 0 && group.pc == group.join) {
      Meeting &meeting = w_.meetings[size_t(group.meeting)];
      meeting.arrived |= group.mask;
      if (meeting.arrived != meeting.expected)
        return;
      group = release(meeting);
    }
    w_.groups.push_back(group);
  }

  Group release(Meeting &meeting) {
    Group group;
    group.pc = meeting.pc;
    group.mask = meeting.expected;
    group.meeting = meeting.parent;
    group.join = meeting.join;
    meeting.used = false;
    return group;
  }

  void remove(size_t index) { w_.groups.erase(w_.groups.begin() + ptrdiff_t(index)); }

  // Sides: where lanes go, and which; empty ones are left out.
  void part(size_t index, const Op &op, std::span<const std::pair<uint32_t, uint32_t>> sides) {
    Group parent = w_.groups[index];
    remove(index);
    if (op.join != nowhere && parent.join != op.join && !staysApart(w_)) {
      Meeting meeting{op.join, parent.mask, 0, parent.join, parent.meeting, true, op.isSoftJoin};
      parent.meeting = place(meeting);
      parent.join = op.join;
    }
    for (auto [pc, mask] : sides) {
      Group group = parent;
      group.pc = pc;
      group.mask = mask;
      if (mask)
        add(group);
    }
  }

  void exit(size_t index, uint32_t mask) {
    Group &group = w_.groups[index];
    w_.live &= ~mask;
    group.mask &= ~mask;
    ++group.pc;
    Group rest = group;
    remove(index);
    for (size_t i = 0; i < w_.meetings.size(); ++i) {
      Meeting &meeting = w_.meetings[i];
      meeting.expected &= ~mask;
      if (!meeting.used || meeting.arrived != meeting.expected)
        continue;
      if (meeting.expected) {
        Group merged = release(meeting);
        add(merged);
      } else {
        meeting.used = false;
      }
    }
    if (rest.mask)
      add(rest);
    // Who waited for lanes that are gone looks again.
    for (Group &one : w_.groups)
      if (one.state == Group::State::AtSync)
        one.state = Group::State::Ready;
  }

  // Ready groups at one place, with one place to meet, are one.
  void merge() {
    for (size_t i = 0; i < w_.groups.size(); ++i)
      for (size_t k = w_.groups.size(); k-- > i + 1;) {
        Group &a = w_.groups[i], &b = w_.groups[k];
        bool areReady = a.state == Group::State::Ready && b.state == Group::State::Ready;
        if (!areReady || a.pc != b.pc || a.meeting != b.meeting)
          continue;
        a.mask |= b.mask;
        remove(k);
      }
  }

private:
  int32_t place(const Meeting &meeting) {
    for (size_t i = 0; i < w_.meetings.size(); ++i)
      if (!w_.meetings[i].used) {
        w_.meetings[i] = meeting;
        return int32_t(i);
      }
    w_.meetings.push_back(meeting);
    return int32_t(w_.meetings.size() - 1);
  }

  Warp &w_;
};

void tellBranch(Warp &warp, const Op &op, uint32_t taken, uint32_t fallen) {
  for (Observer *observer : warp.block->observers())
    observer->branch(idOf(warp), {op.instruction, taken, fallen});
}

// Executes a branch; false when the group is gone.
bool branch(Warp &warp, size_t index, const Op &op, uint32_t taken) {
  Group &group = warp.groups[index];
  uint32_t fallen = group.mask & ~taken;
  tellBranch(warp, op, taken, fallen);
  if (!taken || !fallen) {
    group.pc = taken ? op.target : group.pc + 1;
    return true;
  }
  std::pair<uint32_t, uint32_t> sides[] = {{group.pc + 1, fallen}, {op.target, taken}};
  Groups(warp).part(index, op, sides);
  return false;
}

bool branchIndexed(Warp &warp, size_t index, const Op &op, uint32_t mask) {
  Group &group = warp.groups[index];
  const auto &targets = warp.block->program().kernel->targets[op.detail];
  const uint32_t *which = warp.lanes<uint32_t>(op.a);
  std::vector<std::pair<uint32_t, uint32_t>> sides;
  auto side = [&](uint32_t pc, uint32_t bit) {
    for (auto &[at, lanes] : sides)
      if (at == pc) {
        lanes |= bit;
        return;
      }
    sides.push_back({pc, bit});
  };
  forLanes(group.mask, [&](unsigned i) {
    uint32_t bit = 1u << i;
    if (!(mask & bit))
      return side(group.pc + 1, bit);
    if (which[i] < targets.size())
      return side(targets[which[i]], bit);
    warp.block->findings().add(FindingKind::BadOperand,
                               "branches to target " + std::to_string(which[i]) + " of " +
                                   std::to_string(targets.size()),
                               siteOf(warp, op.instruction, i));
    side(targets.empty() ? group.pc + 1 : targets[0], bit);
  });
  tellBranch(warp, op, mask, group.mask & ~mask);
  if (sides.size() == 1) {
    group.pc = sides[0].first;
    return true;
  }
  Groups(warp).part(index, op, sides);
  return false;
}

void exitLanes(Warp &warp, size_t index, const Op &op, uint32_t mask) {
  for (Observer *observer : warp.block->observers())
    observer->lanesExit(idOf(warp), mask);
  abandonCopies(warp, mask);
  Groups(warp).exit(index, mask);
  if (!warp.live)
    abandonProducts(warp);
  releaseBarriers(*warp.block);
}

// The lanes that a .sync instruction names, which must be the same for all that execute it.
uint32_t membersOf(Warp &warp, const Op &op, uint32_t mask) {
  const uint32_t *masks = warp.lanes<uint32_t>(op.e);
  uint32_t members = masks[firstLane(mask)];
  uint32_t odd = 0;
  forLanes(mask, [&](unsigned i) { odd |= masks[i] != members || !(masks[i] >> i & 1) ? 1u << i : 0; });
  if (!odd)
    return members;
  unsigned lane = firstLane(odd);
  bool isIn = masks[lane] >> lane & 1;
  warp.block->findings().add(FindingKind::MaskMismatch,
                             isIn ? "lanes that execute it together name different masks"
                                  : "a lane executes it that its mask does not name",
                             siteOf(warp, op.instruction, lane));
  return members | mask;
}

// Lanes at a .sync instruction. True: executed, the group goes on.
bool meet(Warp &warp, size_t index, const Op &op, uint32_t mask) {
  Group &group = warp.groups[index];
  uint32_t members = membersOf(warp, op, mask), needed = members & warp.live;
  if (!(needed & ~mask)) {
    op.run(warp, op, mask);
    ++group.pc;
    return true;
  }
  if (mask != group.mask) { // the others do not execute it
    Group others = group;
    others.mask &= ~mask;
    ++others.pc;
    group.mask = mask;
    group.state = Group::State::AtSync;
    group.members = members;
    Groups(warp).add(others);
  } else {
    group.state = Group::State::AtSync;
    group.members = members;
  }
  // Of bar.warp.sync (op.flag) lanes may stand at different ones.
  uint32_t here = 0, pc = warp.groups[index].pc;
  const Op *ops = warp.block->program().ops.data();
  auto isHere = [&](const Group &one) {
    return one.state == Group::State::AtSync && one.members == members &&
           (one.pc == pc || (op.flag && ops[one.pc].run == op.run));
  };
  for (const Group &one : warp.groups)
    if (isHere(one))
      here |= one.mask;
  if (needed & ~here)
    return false;
  op.run(warp, op, here);
  for (Group &one : warp.groups)
    if (isHere(one)) {
      one.state = Group::State::Ready;
      ++one.pc;
    }
  Groups(warp).merge();
  return false;
}

// Lanes that stay apart come to an .aligned barrier one group after the other. True: all are here, as
// the group at `index`.
bool gather(Warp &warp, size_t &index) {
  uint32_t pc = warp.groups[index].pc, here = 0;
  warp.groups[index].state = Group::State::AtSync;
  warp.groups[index].members = warp.live;
  for (const Group &one : warp.groups)
    if (one.state == Group::State::AtSync && one.pc == pc)
      here |= one.mask;
  if (here != warp.live)
    return false;
  for (Group &one : warp.groups)
    if (one.state == Group::State::AtSync && one.pc == pc)
      one.state = Group::State::Ready;
  Groups(warp).merge();
  for (index = 0; warp.groups[index].pc != pc;)
    ++index;
  return true;
}

// Lanes at a .sync.aligned instruction, to which all of the warp's lanes come together. True: executed,
// the group goes on.
bool alignedStep(Warp &warp, size_t index, const Op &op, uint32_t mask) {
  bool gathers = staysApart(warp) && mask != warp.live && mask == warp.groups[index].mask;
  if (gathers) {
    if (!gather(warp, index))
      return false;
    mask = warp.groups[index].mask;
  }
  if (mask != allLanes)
    warp.block->findings().add(FindingKind::UnalignedWarp,
                               "lanes " + lanesText(mask) + " come to it without lanes " + lanesText(~mask) +
                                   " of their warp",
                               siteOf(warp, op.instruction, firstLane(mask)));
  op.run(warp, op, mask);
  ++warp.groups[index].pc;
  return !gathers; // they may be at another index
}

// Executes an operation that steers; false when the group stopped or is gone.
bool control(Warp &warp, size_t index, const Op &op, uint32_t mask) {
  Group &group = warp.groups[index];
  switch (op.control) {
  case Control::Branch: return branch(warp, index, op, mask);
  case Control::BranchIndexed: return branchIndexed(warp, index, op, mask);
  case Control::Exit:
    if (mask) {
      exitLanes(warp, index, op, mask);
      return false;
    }
    break;
  case Control::Trap:
    if (mask) {
      op.run(warp, op, mask);
      warp.block->worker->run.stop = true;
      return false;
    }
    break;
  case Control::Sync:
    if (mask)
      return meet(warp, index, op, mask);
    break;
  case Control::Aligned:
    if (mask)
      return alignedStep(warp, index, op, mask);
    break;
  case Control::Barrier:
    if (mask) {
      uint32_t rest = group.mask & ~mask;
      if (rest) { // a barrier under a guard: these lanes pass it by
        Group others = group;
        others.mask = rest;
        ++others.pc;
        group.mask = mask;
        Groups(warp).add(others);
      }
      if (staysApart(warp) && op.flag && mask != warp.live) {
        if (!gather(warp, index))
          return false;
        mask = warp.groups[index].mask;
      }
      Group &self = warp.groups[index];
      bool waits = !op.flag2;
      if (waits)
        self.state = Group::State::AtBarrier;
      else
        ++self.pc;
      arriveAtBarrier(warp, op, mask);
      return false;
    }
    break;
  case Control::Phase: {
    if (mask)
      op.run(warp, op, mask);
    bool goesOn = mask != group.mask || isWaitOver(warp, op, mask);
    group.pc += goesOn;
    if (!goesOn)
      group.state = Group::State::AtPhase;
    return false;
  }
  case Control::Yield:
    if (mask && op.run)
      op.run(warp, op, mask);
    ++group.pc;
    return false;
  case Control::None: break;
  }
  ++group.pc;
  return true;
}

} // namespace

bool releaseSoft(Warp &warp) {
  for (Meeting &meeting : warp.meetings) {
    if (!meeting.used || !meeting.isSoft || !meeting.arrived)
      continue;
    // They go on by themselves, without the join: who still comes meets without them.
    Group group;
    group.pc = meeting.pc;
    group.mask = meeting.arrived;
    group.meeting = meeting.parent;
    group.join = meeting.join;
    meeting.expected &= ~meeting.arrived;
    meeting.arrived = 0;
    meeting.used = meeting.expected != 0;
    Groups(warp).add(group);
    return true;
  }
  return false;
}

void runGroup(Warp &warp, size_t index, uint64_t &quantum) {
  Worker &worker = *warp.block->worker;
  const Op *ops = warp.block->program().ops.data();
  const uint32_t *predicates = warp.predicates.data();
  Group *group = &warp.groups[index];
  uint32_t pc = group->pc, mask = group->mask;
  uint64_t left = quantum;
  while (left) {
    if (pc == group->join) { // waits for its siblings
      group->pc = pc;
      quantum = left;
      Group arrived = *group;
      Groups(warp).remove(index);
      Groups(warp).add(arrived);
      return;
    }
    --left;
    ++worker.clock;
    const Op &op = ops[pc];
    uint32_t active = mask & (predicates[op.guard] ^ op.guardFlip);
    ++worker.executions[pc];
    worker.lanes[pc] += unsigned(std::popcount(active));
    if (op.touched && active)
      touchProductRegisters(warp, op);
    if (op.control == Control::None) {
      if (active)
        op.run(warp, op, active);
      ++pc;
    } else {
      group->pc = pc;
      quantum = left;
      if (!control(warp, index, op, active))
        return;
      group = &warp.groups[index];
      pc = group->pc;
    }
  }
  group->pc = pc;
  quantum = left;
}

} // namespace tegula::ptxvm
