// Branches, exits, barriers of the block, traps; and the two functions that PTX calls: vprintf and
// __assertfail.
#include "ptxvm/exec/Lower.h"
#include "ptxvm/exec/Print.h"
#include "ptxvm/exec/Warp.h"

#include <cstring>

namespace tegula::ptxvm {
namespace {

void trap(Warp &w, const Op &op, uint32_t mask) {
  w.block->findings().add(FindingKind::Trap, "a trap was executed",
                          siteOf(w, op.instruction, firstLane(mask)));
}

uint64_t argument(Warp &w, const CallSite &site, size_t index, unsigned lane, unsigned bytes) {
  uint64_t value = 0, stride = w.local.size() / warpSize;
  if (index < site.arguments.size() && site.arguments[index] + bytes <= stride)
    std::memcpy(&value, w.local.data() + lane * stride + site.arguments[index], bytes);
  return value;
}

void print(Warp &w, const Op &op, uint32_t mask) {
  const CallSite &site = w.block->program().calls[op.detail];
  uint64_t stride = w.local.size() / warpSize;
  std::string text;
  forLanes(mask, [&](unsigned i) {
    text += formatPrintf(w, i, argument(w, site, 0, i, 8), argument(w, site, 1, i, 8));
    if (site.returned != nowhere && site.returned + 4 <= stride)
      std::memset(w.local.data() + i * stride + site.returned, 0, 4);
  });
  Run &run = w.block->worker->run;
  std::lock_guard lock(run.printMutex);
  std::string &all = run.printed[w.block->linear];
  if (all.size() < (1u << 20))
    all += text;
}

// __assertfail(message, file, line, function, size of a character)
void assertFail(Warp &w, const Op &op, uint32_t mask) {
  const CallSite &site = w.block->program().calls[op.detail];
  unsigned lane = firstLane(mask);
  std::string file = readString(w, argument(w, site, 1, lane, 8));
  w.block->findings().add(FindingKind::AssertFailed,
                          readString(w, argument(w, site, 0, lane, 8)) + " (" + file + ":" +
                              std::to_string(argument(w, site, 2, lane, 4)) + ", in " +
                              readString(w, argument(w, site, 3, lane, 8)) + ")",
                          siteOf(w, op.instruction, lane));
}

} // namespace

void lowerBra(Lowering &l) {
  l.op.target = l.operand(0).index;
  l.op.control = Control::Branch;
}
void lowerBrxIdx(Lowering &l) {
  l.op.a = l.place(0, Type::U32);
  l.op.detail = l.operand(1).index;
  l.op.control = Control::BranchIndexed;
}
void lowerExit(Lowering &l) { l.op.control = Control::Exit; }
void lowerTrap(Lowering &l) {
  l.op.run = trap;
  l.op.control = Control::Trap;
}
void lowerNanosleep(Lowering &l) { l.op.control = Control::Yield; }
void lowerNothing(Lowering &l) {
  l.op.run = [](Warp &, const Op &, uint32_t) {};
}

// bar.sync id [, threads];   flag: aligned, flag2: arrive
void lowerBar(Lowering &l) {
  l.op.a = l.place(0, Type::U32);
  if (l.operandCount() > 1)
    l.op.b = l.place(1, Type::U32);
  l.op.flag = l.mnemonic() == "bar" || l.has(Modifier::aligned);
  l.op.flag2 = l.has(Modifier::arrive);
  l.op.control = Control::Barrier;
}
// bar.red d, id [, threads], p;   mode: 1 popc, 2 and, 3 or
void lowerBarRed(Lowering &l) {
  bool ignored = false, negated = false, popc = l.has(Modifier::popc);
  l.op.d = popc ? l.place(0, Type::U32) : l.predicate(l.operand(0), ignored);
  l.op.a = l.place(1, Type::U32);
  unsigned last = l.operandCount() - 1;
  if (last > 2)
    l.op.b = l.place(2, Type::U32);
  l.op.p = l.predicate(l.operand(last), negated);
  l.op.value = negated;
  l.op.mode = popc ? 1 : l.has(Modifier::And) ? 2 : 3;
  l.op.flag = l.mnemonic() == "bar" || l.has(Modifier::aligned);
  l.op.control = Control::Barrier;
}

void lowerCall(Lowering &l) {
  const std::string &name = l.kernel().module->functions[l.operand(0).index].name;
  CallSite site;
  site.name = name;
  auto placesOf = [&](const Operand &list, auto take) {
    for (uint32_t i = 0; i < list.count; ++i) {
      const Operand &part = l.kernel().parts[list.first + i];
      Space space = Space::Generic;
      if (part.kind == OperandKind::Variable)
        take(uint32_t(l.address(part, space)));
      if (space != Space::Local)
        l.error = "arguments of a call are .param variables";
    }
  };
  placesOf(l.operand(1), [&](uint32_t place) { site.returned = place; });
  placesOf(l.operand(2), [&](uint32_t place) { site.arguments.push_back(place); });
  if (name == "vprintf" && site.arguments.size() == 2) {
    l.op.run = print;
  } else if (name == "__assertfail" && site.arguments.size() == 5) {
    l.op.run = assertFail;
    l.op.control = Control::Trap;
  } else {
    l.error = "calls a function that this machine does not execute";
  }
  l.op.detail = uint32_t(l.program.calls.size());
  l.program.calls.push_back(std::move(site));
}

} // namespace tegula::ptxvm
