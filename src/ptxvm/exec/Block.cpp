// A block: its beginning, and the scheduler that decides which warp goes on, and for how long. The
// schedule is an adversary: a program that is right is right under each of them.
#include "ptxvm/exec/Warp.h"

#include <algorithm>
#include <cstring>

namespace tegula::ptxvm {
namespace {

constexpr uint64_t defaultStepLimit = 1'000'000'000;

uint64_t specialValue(const Block &block, const Warp &warp, unsigned lane, Special which) {
  const Run &run = block.worker->run;
  const auto &grid = run.launch.grid, &shape = run.launch.block;
  uint32_t thread = warp.index * warpSize + lane;
  switch (which) {
  case Special::TidX: return thread % shape[0];
  case Special::TidY: return thread / shape[0] % shape[1];
  case Special::TidZ: return thread / shape[0] / shape[1];
  case Special::NtidX: return shape[0];
  case Special::NtidY: return shape[1];
  case Special::NtidZ: return shape[2];
  // A cluster is one block.
  case Special::CtaidX:
  case Special::ClusteridX: return block.id[0];
  case Special::CtaidY:
  case Special::ClusteridY: return block.id[1];
  case Special::CtaidZ:
  case Special::ClusteridZ: return block.id[2];
  case Special::NctaidX:
  case Special::NclusteridX: return grid[0];
  case Special::NctaidY:
  case Special::NclusteridY: return grid[1];
  case Special::NctaidZ:
  case Special::NclusteridZ: return grid[2];
  case Special::ClusterCtaidX:
  case Special::ClusterCtaidY:
  case Special::ClusterCtaidZ:
  case Special::ClusterCtarank: return 0;
  case Special::ClusterNctaidX:
  case Special::ClusterNctaidY:
  case Special::ClusterNctaidZ:
  case Special::ClusterNctarank: return 1;
  case Special::Laneid: return lane;
  case Special::Warpid: return warp.index;
  case Special::Nwarpid: return run.warpsPerBlock;
  case Special::Smid: return block.worker->index;
  case Special::Nsmid: return 1;
  case Special::Gridid: return 1;
  case Special::LanemaskEq: return 1u << lane;
  case Special::LanemaskLt: return (1u << lane) - 1;
  case Special::LanemaskLe: return (2u << lane) - 1;
  case Special::LanemaskGt: return ~uint32_t((uint64_t(2) << lane) - 1);
  case Special::LanemaskGe: return ~((1u << lane) - 1);
  case Special::DynamicSharedSize: return run.launch.sharedBytes;
  case Special::TotalSharedSize: return block.program().sharedBytes;
  default: return 0; // those that change are read by mov
  }
}

void beginWarp(Block &block, Warp &warp, uint32_t index) {
  const DecodedKernel &program = block.program();
  warp.block = &block;
  warp.index = index;
  uint32_t threads = std::min(block.worker->run.threadsPerBlock - index * warpSize, warpSize);
  warp.exists = warp.live = threads == warpSize ? allLanes : (1u << threads) - 1;
  warp.file = program.image;
  warp.local.assign(program.localBytes * warpSize, std::byte(0xff));
  warp.predicates.assign(program.predicates, 0);
  warp.predicates[0] = allLanes;
  warp.copies.clear();
  warp.committed.fill(0);
  beginProducts(warp);
  warp.carry = 0;
  warp.groups.assign(1, Group());
  warp.groups[0].mask = warp.live;
  warp.meetings.clear();
  for (const auto &special : program.specials)
    for (unsigned lane = 0; lane < warpSize; ++lane)
      writeLane(warp, special.place, special.is64, lane, specialValue(block, warp, lane, special.which));
}

void makePriorities(Block &block) {
  block.priorities.resize(block.warps.size());
  for (uint32_t i = 0; i < block.priorities.size(); ++i)
    block.priorities[i] = i;
  for (size_t i = block.priorities.size(); i > 1; --i)
    std::swap(block.priorities[i - 1], block.priorities[nextRandom(block.random) % i]);
  block.changePoints.clear();
  for (int i = 0; i < 3; ++i)
    block.changePoints.push_back(nextRandom(block.random) % (1000 * block.warps.size()));
}

void demote(Block &block, uint32_t warp) {
  auto it = std::find(block.priorities.begin(), block.priorities.end(), warp);
  std::rotate(it, it + 1, block.priorities.end());
}

constexpr size_t noWarp = ~size_t(0);

// The warp that runs next, and for how many instructions.
size_t pick(Block &block, uint64_t &quantum) {
  size_t count = block.warps.size();
  switch (block.worker->run.launch.schedule.kind) {
  case Schedule::Kind::RoundRobin:
    quantum = 64;
    for (size_t i = 0; i < count; ++i) {
      size_t at = (block.nextWarp + i) % count;
      if (block.warps[at].isReady()) {
        block.nextWarp = at + 1;
        return at;
      }
    }
    return noWarp;
  case Schedule::Kind::Random:
  case Schedule::Kind::Apart: {
    uint64_t dice = nextRandom(block.random);
    quantum = dice & 1 ? 1 + (dice >> 8) % 64 : 1 + (dice >> 8) % 4;
    size_t start = (dice >> 32) % count;
    for (size_t i = 0; i < count; ++i)
      if (block.warps[(start + i) % count].isReady())
        return (start + i) % count;
    return noWarp;
  }
  case Schedule::Kind::Priority:
    quantum = 4096;
    for (uint32_t at : block.priorities)
      if (block.warps[at].isReady())
        return at;
    return noWarp;
  }
  return noWarp;
}

size_t pickGroup(Block &block, Warp &warp) {
  size_t count = warp.groups.size(), start = warp.nextGroup++;
  Schedule::Kind kind = block.worker->run.launch.schedule.kind;
  if (count > 1 && (kind == Schedule::Kind::Random || kind == Schedule::Kind::Apart))
    start = nextRandom(block.random);
  for (size_t i = 0; i < count; ++i)
    if (warp.groups[(start + i) % count].state == Group::State::Ready)
      return (start + i) % count;
  return 0;
}

void finish(Block &block, bool isOver = false) {
  block.done = true;
  abandonStores(block, isOver); // observers hear of the end of each, however the block ends
  for (Observer *observer : block.observers())
    observer->blockEnds(block.worker->index, block.linear);
}

} // namespace

uint64_t nextRandom(uint64_t &state) { // splitmix64
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

void begin(Block &block, Worker &worker, uint32_t linear) {
  const Run &run = worker.run;
  block.worker = &worker;
  block.linear = linear;
  block.id = {linear % run.launch.grid[0], linear / run.launch.grid[0] % run.launch.grid[1],
              linear / run.launch.grid[0] / run.launch.grid[1]};
  block.shared.assign(run.program.sharedBytes, std::byte(0xff));
  block.warps.resize(run.warpsPerBlock);
  for (uint32_t i = 0; i < run.warpsPerBlock; ++i)
    beginWarp(block, block.warps[i], i);
  block.barriers.fill(Barrier());
  block.steps = 0;
  block.random = run.launch.schedule.seed * 0x2545f4914f6cdd1d + linear;
  block.nextCopy = block.nextProduct = block.nextBulk = block.nextStore = 0;
  block.phaseBarriers.clear();
  block.bulkCopies.clear();
  block.bulkStores.clear();
  block.groups.assign((run.warpsPerBlock + 3) / 4, {});
  block.copyRandom = ~block.random;
  block.nextWarp = 0;
  block.done = false;
  makePriorities(block);
  for (Observer *observer : block.observers())
    observer->blockBegins(worker.index, linear, block.shared);
}

void advance(Block &block, uint64_t budget) {
  Run &run = block.worker->run;
  uint64_t limit = run.launch.stepLimit ? run.launch.stepLimit : defaultStepLimit;
  bool byPriority = run.launch.schedule.kind == Schedule::Kind::Priority;
  for (uint64_t used = 0; used < budget && !run.stop;) {
    uint64_t quantum = 0;
    size_t at = pick(block, quantum);
    if (at == noWarp && std::any_of(block.warps.begin(), block.warps.end(), releaseSoft))
      continue;
    if (at == noWarp) {
      bool isOver =
          std::none_of(block.warps.begin(), block.warps.end(), [](const Warp &w) { return w.live != 0; });
      if (!isOver && landBulk(block, 1)) // as late as can be
        continue;
      abandonBulk(block);
      if (!isOver)
        reportDeadlock(block);
      return finish(block, isOver);
    }
    Warp &warp = block.warps[at];
    if (block.steps >= limit) {
      const Group &group = warp.groups.empty() ? Group() : warp.groups[0];
      block.findings().add(FindingKind::StepLimit,
                           "after " + std::to_string(block.steps) + " instructions of the block's warps",
                           siteOf(warp, group.pc));
      return finish(block);
    }
    quantum = std::min(quantum, limit - block.steps);
    uint64_t left = quantum;
    while (left && warp.isReady() && !run.stop) {
      uint64_t before = left;
      landSome(block);
      landSomeProducts(block);
      landSomeBulk(block);
      landSomeStores(block);
      runGroup(warp, pickGroup(block, warp), left);
      if (before == left) // it only met its siblings
        continue;
      if (!byPriority && warp.groups.size() != 1)
        break;
    }
    uint64_t steps = quantum - left;
    used += steps + (steps == 0);
    uint64_t total = block.steps + steps;
    bool changes = false;
    for (uint64_t point : block.changePoints)
      changes |= point >= block.steps && point < total;
    block.steps = total;
    if (byPriority && (changes || left == 0))
      demote(block, uint32_t(at));
  }
  if (run.stop)
    finish(block);
}

} // namespace tegula::ptxvm
