#include "ptxvm/checks/BarrierUse.h"
#include "ptxvm/Machine.h"

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

void BarrierUse::memory(const WarpId &who, const MemoryEvent &event) {
  bool isShared = event.space == Space::Shared;
  if ((!isShared && event.space != Space::Global) || event.kind == AccessKind::Prefetch)
    return;
  Worker &worker = workers_[who.worker];
  Block &block = *worker.blocks.at(who.block);
  for (uint32_t mask = event.mask; mask; mask &= mask - 1) {
    uint32_t lane = uint32_t(std::countr_zero(mask)), thread = who.warp * 32 + lane;
    for (uint32_t i = 0; i < event.width; ++i) {
      bool isSame = event.data && event.bytes && event.data[lane * event.width + i] == event.bytes[lane][i];
      bool changes = event.kind != AccessKind::Load && !isSame;
      Byte &byte = block.bytes[isShared][event.addresses[lane] + i];
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
