// Exchange between the lanes of a warp. PTX ISA manual, "shfl.sync", "vote.sync", "match.sync",
// "redux.sync", "activemask", "elect.sync", "bar.warp.sync".
#include "ptxvm/exec/Lower.h"
#include "ptxvm/exec/Warp.h"
#include "ptxvm/float/Float.h"

#include <algorithm>

namespace tegula::ptxvm {
namespace {

void tellSync(Warp &w, const Op &op, uint32_t mask, bool ordersMemory) {
  for (Observer *observer : w.block->observers())
    observer->warpSync(idOf(w), {op.instruction, mask, ordersMemory});
}
void setPredicate(Warp &w, uint32_t number, uint32_t mask, uint32_t value) {
  if (number != nowhere)
    w.predicates[number] = (w.predicates[number] & ~mask) | (value & mask);
}

enum ShuffleMode : uint8_t { Up, Down, Butterfly, Index };

// Where lane i reads, and whether that is within its segment.
std::pair<unsigned, bool> sourceLane(uint8_t mode, unsigned lane, uint32_t b, uint32_t c) {
  unsigned clampTo = c & 31, segment = c >> 8 & 31;
  unsigned most = (lane & segment) | (clampTo & ~segment), least = lane & segment;
  int from = 0;
  bool within = false;
  b &= 31;
  switch (mode) {
  case Up:
    from = int(lane) - int(b);
    within = from >= int(most);
    break;
  case Down:
    from = int(lane + b);
    within = from <= int(most);
    break;
  case Butterfly:
    from = int(lane ^ b);
    within = from <= int(most);
    break;
  default:
    from = int(least | (b & ~segment));
    within = from <= int(most);
    break;
  }
  return {within ? unsigned(from) : lane, within};
}

void shuffle(Warp &w, const Op &op, uint32_t mask) {
  tellSync(w, op, mask, false);
  auto *a = w.lanes<uint32_t>(op.a), *b = w.lanes<uint32_t>(op.b), *c = w.lanes<uint32_t>(op.c);
  uint32_t before[warpSize], within = 0, missing = 0;
  std::copy_n(a, warpSize, before);
  auto *d = op.d == nowhere ? nullptr : w.lanes<uint32_t>(op.d);
  forLanes(mask, [&](unsigned i) {
    auto [from, is] = sourceLane(op.mode, i, b[i], c[i]);
    within |= uint32_t(is) << i;
    missing |= uint32_t(!(mask >> from & 1)) << i;
    if (d)
      d[i] = before[from];
  });
  setPredicate(w, op.p, mask, within);
  if (missing) {
    unsigned lane = firstLane(missing);
    w.block->findings().add(FindingKind::InactiveSource,
                            "reads lane " +
                                std::to_string(sourceLane(op.mode, lane, b[lane], c[lane]).first) +
                                ", which does not take part",
                            siteOf(w, op.instruction, lane));
  }
}

enum VoteMode : uint8_t { All, Any, Uniform, Ballot };

void vote(Warp &w, const Op &op, uint32_t mask) {
  tellSync(w, op, mask, false);
  uint32_t yes = (w.predicates[op.a] ^ (op.flag ? allLanes : 0)) & mask;
  if (op.mode == Ballot) {
    auto *d = w.lanes<uint32_t>(op.d);
    forLanes(mask, [&](unsigned i) { d[i] = yes; });
    return;
  }
  bool result = op.mode == All ? yes == mask : op.mode == Any ? yes != 0 : yes == mask || yes == 0;
  setPredicate(w, op.d, mask, result ? allLanes : 0);
}

template <class T> void match(Warp &w, const Op &op, uint32_t mask) {
  tellSync(w, op, mask, false);
  T values[warpSize];
  std::copy_n(w.lanes<T>(op.a), warpSize, values);
  auto *d = w.lanes<uint32_t>(op.d);
  if (op.flag) { // all: the mask if all are equal, else 0
    bool same = true;
    forLanes(mask, [&](unsigned i) { same &= values[i] == values[firstLane(mask)]; });
    forLanes(mask, [&](unsigned i) { d[i] = same ? mask : 0; });
    setPredicate(w, op.p, mask, same ? allLanes : 0);
    return;
  }
  forLanes(mask, [&](unsigned i) {
    uint32_t equal = 0;
    forLanes(mask, [&](unsigned k) { equal |= uint32_t(values[k] == values[i]) << k; });
    d[i] = equal;
  });
}

uint32_t combineLanes(Modifier operation, bool isSigned, uint32_t a, uint32_t b) {
  switch (operation) {
  case Modifier::add: return a + b;
  case Modifier::And: return a & b;
  case Modifier::Or: return a | b;
  case Modifier::Xor: return a ^ b;
  case Modifier::min: return isSigned ? uint32_t(std::min(int32_t(a), int32_t(b))) : std::min(a, b);
  default: return isSigned ? uint32_t(std::max(int32_t(a), int32_t(b))) : std::max(a, b);
  }
}
void reduce(Warp &w, const Op &op, uint32_t mask) {
  tellSync(w, op, mask, false);
  auto *a = w.lanes<uint32_t>(op.a), *d = w.lanes<uint32_t>(op.d);
  uint32_t result = a[firstLane(mask)];
  forLanes(mask & (mask - 1),
           [&](unsigned i) { result = combineLanes(Modifier(op.mode), op.flag, result, a[i]); });
  forLanes(mask, [&](unsigned i) { d[i] = result; });
}

// op.flag: .abs; op.flag2: .NaN.
void reduceFloats(Warp &w, const Op &op, uint32_t mask) {
  tellSync(w, op, mask, false);
  auto *a = w.lanes<uint32_t>(op.a), *d = w.lanes<uint32_t>(op.d);
  auto operand = [&](unsigned i) { return op.flag ? abs(Format::F32, a[i], false) : a[i]; };
  auto combine = Modifier(op.mode) == Modifier::min ? minimum : maximum;
  MinMaxMode mode;
  mode.nan = op.flag2;
  uint64_t result = operand(firstLane(mask));
  // The first one with itself, too: a NaN becomes the one that operations give.
  forLanes(mask, [&](unsigned i) { result = combine(Format::F32, result, operand(i), mode); });
  forLanes(mask, [&](unsigned i) { d[i] = uint32_t(result); });
}

void activeMask(Warp &w, const Op &op, uint32_t mask) {
  auto *d = w.lanes<uint32_t>(op.d);
  forLanes(mask, [&](unsigned i) { d[i] = mask; });
}
void elect(Warp &w, const Op &op, uint32_t mask) {
  tellSync(w, op, mask, false);
  unsigned leader = firstLane(mask);
  if (op.d != nowhere)
    forLanes(mask, [&](unsigned i) { w.lanes<uint32_t>(op.d)[i] = leader; });
  setPredicate(w, op.p, mask, 1u << leader);
}
void warpBarrier(Warp &w, const Op &op, uint32_t mask) { tellSync(w, op, mask, true); }

void useSync(Lowering &l, unsigned membersOperand, Handler run) {
  l.op.e = l.place(membersOperand, Type::B32);
  l.op.control = Control::Sync;
  l.op.run = run;
}

} // namespace

void lowerShfl(Lowering &l) { // d[|p], a, b, c, members
  bool ignored = false, both = l.operand(1).afterBar;
  l.op.d = l.place(0, Type::B32);
  if (both)
    l.op.p = l.predicate(l.operand(1), ignored);
  unsigned at = both ? 2 : 1;
  l.op.a = l.place(at, Type::B32);
  l.op.b = l.place(at + 1, Type::B32);
  l.op.c = l.place(at + 2, Type::B32);
  l.op.mode = l.has(Modifier::up)     ? Up
              : l.has(Modifier::down) ? Down
              : l.has(Modifier::bfly) ? Butterfly
                                      : Index;
  useSync(l, at + 3, shuffle);
}
void lowerVote(Lowering &l) {
  bool ignored = false;
  bool ballot = l.has(Modifier::ballot);
  l.op.d = ballot ? l.place(0, Type::B32) : l.predicate(l.operand(0), ignored);
  l.op.a = l.predicate(l.operand(1), l.op.flag);
  l.op.mode = ballot ? Ballot : l.has(Modifier::all) ? All : l.has(Modifier::any) ? Any : Uniform;
  useSync(l, 2, vote);
}
void lowerMatch(Lowering &l) {
  bool ignored = false, both = l.operand(1).afterBar;
  l.op.d = l.place(0, Type::B32);
  if (both)
    l.op.p = l.predicate(l.operand(1), ignored);
  unsigned at = both ? 2 : 1;
  l.op.a = l.place(at, l.type());
  l.op.flag = l.has(Modifier::all);
  useSync(l, at + 1, bitWidth(l.type()) == 64 ? match<uint64_t> : match<uint32_t>);
}
void lowerRedux(Lowering &l) {
  l.op.d = l.place(0, l.type());
  l.op.a = l.place(1, l.type());
  l.op.flag = isSigned(l.type());
  for (Modifier one :
       {Modifier::add, Modifier::And, Modifier::Or, Modifier::Xor, Modifier::min, Modifier::max})
    if (l.has(one))
      l.op.mode = uint8_t(one);
  if (l.type() == Type::F32) {
    l.op.flag = l.has(Modifier::abs);
    l.op.flag2 = l.has(Modifier::nanPropagating);
  }
  useSync(l, 2, l.type() == Type::F32 ? reduceFloats : reduce);
}
void lowerActivemask(Lowering &l) {
  l.op.d = l.place(0, Type::B32);
  l.op.run = activeMask;
}
void lowerElect(Lowering &l) {
  bool ignored = false;
  l.op.d = l.place(0, Type::B32);
  l.op.p = l.predicate(l.operand(1), ignored);
  useSync(l, 2, elect);
}
void lowerWarpBarrier(Lowering &l) {
  l.op.flag = true; // lanes may come to different ones
  useSync(l, 0, warpBarrier);
}

} // namespace tegula::ptxvm
