#include "ptxvm/checks/BarrierUse.h"
#include "ptxvm/Run.h"

#include <bit>
#include <cstring>
#include <memory>
#include <unordered_map>

namespace tegula::ptxvm {
namespace {

constexpr uint32_t kNobody = ~0u, kSeveral = ~0u - 1;

// The accesses to a byte in one interval.
struct Use {
  uint32_t interval = 0;
  uint32_t thread = kNobody;
  bool changed = false;

  void add(uint32_t who, bool changes) {
    thread = thread == kNobody || thread == who ? who : kSeveral;
    changed |= changes;
  }
};

struct Byte {
  Use last, now;
};

} // namespace

struct BarrierUse::Block {
  uint32_t interval = 1;
  uint32_t instruction = kNobody;              // of the barrier that began the interval
  uint32_t arriving = kNobody;                 // of the one that ends it
  std::unordered_map<uint64_t, Byte> bytes[2]; // of global and of shared memory
};

struct BarrierUse::Worker {
  std::unordered_map<uint32_t, std::unique_ptr<Block>> blocks;
  std::vector<bool> ordered;
};

BarrierUse::BarrierUse() = default;
BarrierUse::~BarrierUse() = default;

void BarrierUse::runBegins(const RunView &view) {
  ordered_.assign(view.kernel.instructions.size(), false);
  workers_.clear();
  workers_.resize(view.workers);
  for (Worker &worker : workers_)
    worker.ordered = ordered_;
}

void BarrierUse::runEnds() {
  for (const Worker &worker : workers_)
    for (size_t i = 0; i < ordered_.size(); ++i)
      ordered_[i] = ordered_[i] || worker.ordered[i];
}

void BarrierUse::blockBegins(uint32_t worker, uint32_t block, std::span<std::byte>) {
  workers_[worker].blocks[block] = std::make_unique<Block>();
}
void BarrierUse::blockEnds(uint32_t worker, uint32_t block) { workers_[worker].blocks.erase(block); }

void BarrierUse::use(const WarpId &who, Space space, uint64_t address, uint32_t lane, bool changes) {
  Worker &worker = workers_[who.worker];
  Block &block = *worker.blocks.at(who.block);
  uint32_t thread = who.warp * 32 + lane;
  Byte &byte = block.bytes[space == Space::Shared][address];
  if (byte.now.interval != block.interval) {
    byte.last = byte.now;
    byte.now = {block.interval};
  }
  byte.now.add(thread, changes);
  bool isNext = byte.last.interval + 1 == block.interval && byte.last.thread != kNobody;
  bool isOther = byte.last.thread == kSeveral || byte.now.thread != byte.last.thread;
  if (isNext && isOther && (byte.last.changed || byte.now.changed) && block.instruction != kNobody)
    worker.ordered[block.instruction] = true;
}

void BarrierUse::memory(const WarpId &who, const MemoryEvent &event) {
  if ((event.space != Space::Shared && event.space != Space::Global) || event.kind == AccessKind::Prefetch)
    return;
  for (uint32_t mask = event.mask; mask; mask &= mask - 1) {
    uint32_t lane = uint32_t(std::countr_zero(mask));
    for (uint32_t i = 0; i < event.width; ++i) {
      bool isKnown = event.data && event.bytes && !event.isCopy;
      bool isSame = isKnown && event.data[lane * event.width + i] == event.bytes[lane][i];
      use(who, event.space, event.addresses[lane] + i, lane, event.kind != AccessKind::Load && !isSame);
    }
  }
}

// A copy reads and writes until it was waited for: in the interval of the wait too.
void BarrierUse::copyCompletes(const WarpId &who, const CopyEvent &event, bool) {
  for (uint32_t mask = event.mask; mask; mask &= mask - 1) {
    uint32_t lane = uint32_t(std::countr_zero(mask));
    for (uint32_t i = 0; i < event.width; ++i)
      use(who, Space::Shared, event.to[lane] + i, lane, true);
    for (uint32_t i = 0; i < event.sizes[lane]; ++i)
      use(who, Space::Global, event.from[lane] + i, lane, false);
  }
}

void BarrierUse::barrierArrives(const WarpId &who, const BarrierEvent &event) {
  workers_[who.worker].blocks.at(who.block)->arriving = event.instruction;
}

void BarrierUse::barrierCompletes(uint32_t worker, uint32_t block, uint32_t, std::span<const uint32_t>,
                                  std::span<const uint32_t>) {
  Block &at = *workers_[worker].blocks.at(block);
  ++at.interval;
  at.instruction = at.arriving;
}

} // namespace tegula::ptxvm
