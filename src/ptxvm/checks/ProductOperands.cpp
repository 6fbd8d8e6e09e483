// The check of what products (wgmma) read of shared memory. Between its issue and the moment when its warp
// has waited, a product may read its operands at any time: who writes them in between is reported. And it
// reads through the asynchronous proxy: what threads wrote by themselves, or by cp.async, it sees only if the
// thread that wrote executed fence.proxy.async behind it, and is ordered before the product behind that. The
// same holds of bulk stores, and of bulk copies that overwrite it: what the thread wrote could arrive behind
// what they bring.
//
// By the stricter reading of the manual, cp.async writes as its thread does, and the fence of another thread
// than the one that wrote is none.
#include "ptxvm/Run.h"
#include "ptxvm/checks/Checks.h"
#include "ptxvm/checks/Clocks.h"
#include "ptxvm/checks/Shadow.h"

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <utility>

namespace tegula::ptxvm {
namespace {

constexpr uint32_t pieceBytes = 16;

// The last write of a cell by a thread.
struct Write {
  uint64_t sequence = 0; // of the warp's writes and fences; 0: none
  uint32_t instruction = 0;
  uint8_t warp = 0, lane = 0;
};

struct ProxyFence {
  uint64_t sequence = 0;
  uint32_t clock = 0, mask = 0;
};

struct Reader {
  uint64_t number = 0; // of the product
  uint32_t instruction = 0, warp = 0;
};

struct Block {
  Block(uint32_t block, uint32_t warps, size_t sharedBytes)
      : writes((sharedBytes + cellBytes - 1) / cellBytes), fences(warps) {
    for (uint32_t warp = 0; warp < warps; ++warp)
      clocks.emplace_back(block, warp, warps);
  }
  std::vector<Write> writes;                                  // by cell
  std::unordered_map<uint64_t, std::vector<Reader>> underWay; // by piece
  std::vector<WarpClock> clocks;
  std::vector<std::vector<ProxyFence>> fences; // by warp
  std::map<uint32_t, Published> arrived;       // by barrier, since its last completion
  PhaseClocks phases;
  uint64_t sequence = 0;
};

class ProductOperands : public Observer {
public:
  void runBegins(const RunView &view) override {
    view_ = &view;
    workers_.clear();
    workers_.resize(view.workers);
    const auto &instructions = view.kernel.instructions;
    isNeeded_ = std::any_of(instructions.begin(), instructions.end(), [](const Instruction &instruction) {
      return instruction.text.find("wgmma") != std::string_view::npos ||
             instruction.text.find("cp.async.bulk") != std::string_view::npos;
    });
  }
  void blockBegins(uint32_t worker, uint32_t block, std::span<std::byte> shared) override {
    if (isNeeded_)
      workers_[worker][block] = std::make_unique<Block>(block, view_->warpsPerBlock, shared.size());
  }
  void blockEnds(uint32_t worker, uint32_t block) override { workers_[worker].erase(block); }

  void memory(const WarpId &who, const MemoryEvent &event) override {
    if (!isNeeded_ || event.space != Space::Shared || event.kind == AccessKind::Prefetch)
      return;
    Block &block = blockOf(who);
    if (event.isOperand)
      return checkFences(block, who, event, event.isBulk ? "stores" : "multiplies");
    if (event.kind == AccessKind::Load)
      return;
    checkReaders(block, who, event);
    if (event.isBulk) { // through the same proxy as products read
      checkFences(block, who, event, "overwrites");
      forget(block, event);
    } else if (!event.isCopy) // a copy writes when it was waited for
      write(block, who, event.instruction, event.mask, event.addresses, event.width);
  }

  void copyCompletes(const WarpId &who, const CopyEvent &event, bool) override {
    if (isNeeded_)
      write(blockOf(who), who, event.instruction, event.mask, event.to, event.width);
  }

  void proxyFence(const WarpId &who, uint32_t, uint32_t mask) override {
    if (!isNeeded_)
      return;
    Block &block = blockOf(who);
    block.fences[who.warp].push_back({++block.sequence, block.clocks[who.warp].now(), mask});
  }

  void barrierArrives(const WarpId &who, const BarrierEvent &event) override {
    if (!isNeeded_)
      return;
    Block &block = blockOf(who);
    Published &arrived = block.arrived[event.id];
    arrived = joined(arrived, block.clocks[who.warp].publish());
  }
  void barrierCompletes(uint32_t worker, uint32_t blockNumber, uint32_t id, std::span<const uint32_t>,
                        std::span<const uint32_t> waiters) override {
    if (!isNeeded_)
      return;
    Block &block = *workers_[worker].at(blockNumber);
    Published arrived = std::exchange(block.arrived[id], nullptr);
    for (size_t warp = 0; warp < waiters.size(); ++warp)
      if (waiters[warp])
        block.clocks[warp].acquire(arrived);
  }

  void phaseArrives(const WarpId &who, const PhaseEvent &event) override {
    if (isNeeded_)
      blockOf(who).phases.arrive(event.barrier, blockOf(who).clocks[who.warp].publish());
  }
  void phaseCompletes(uint32_t worker, uint32_t block, uint64_t barrier) override {
    if (isNeeded_)
      workers_[worker].at(block)->phases.complete(barrier);
  }
  void phaseWaited(const WarpId &who, const PhaseEvent &event) override {
    if (isNeeded_)
      blockOf(who).clocks[who.warp].acquire(blockOf(who).phases.completed(event.barrier));
  }

  void productIssued(const WarpId &who, const ProductEvent &event) override {
    Block &block = blockOf(who);
    for (uint64_t piece : event.pieces)
      block.underWay[piece / pieceBytes].push_back({event.number, event.instruction, who.warp});
  }
  void productCompletes(const WarpId &who, const ProductEvent &event) override {
    Block &block = blockOf(who);
    for (uint64_t piece : event.pieces) {
      auto readers = block.underWay.find(piece / pieceBytes);
      if (readers == block.underWay.end()) // read twice by one product
        continue;
      std::erase_if(readers->second, [&](const Reader &reader) { return reader.number == event.number; });
      if (readers->second.empty())
        block.underWay.erase(readers);
    }
  }

private:
  Block &blockOf(const WarpId &who) { return *workers_[who.worker].at(who.block); }

  static void write(Block &block, const WarpId &who, uint32_t instruction, uint32_t mask,
                    const uint64_t *addresses, uint32_t width) {
    ++block.sequence;
    for (; mask; mask &= mask - 1) {
      unsigned lane = unsigned(std::countr_zero(mask));
      for (uint64_t cell = addresses[lane] / cellBytes; cell * cellBytes < addresses[lane] + width; ++cell)
        block.writes[cell] = {block.sequence, instruction, uint8_t(who.warp), uint8_t(lane)};
    }
  }

  static void forget(Block &block, const MemoryEvent &event) {
    for (uint32_t mask = event.mask; mask; mask &= mask - 1) {
      uint64_t begin = event.addresses[std::countr_zero(mask)];
      for (uint64_t cell = begin / cellBytes; cell * cellBytes < begin + event.width; ++cell)
        block.writes[cell] = {};
    }
  }

  void checkReaders(Block &block, const WarpId &who, const MemoryEvent &event) {
    if (block.underWay.empty())
      return;
    for (uint32_t mask = event.mask; mask; mask &= mask - 1) {
      unsigned lane = unsigned(std::countr_zero(mask));
      uint64_t begin = event.addresses[lane], end = begin + event.width;
      for (uint64_t piece = begin / pieceBytes; piece * pieceBytes < end; ++piece)
        if (auto readers = block.underWay.find(piece); readers != block.underWay.end()) {
          const Reader &reader = readers->second.front();
          std::string whose = reader.warp == who.warp ? "its warp" : "warp " + std::to_string(reader.warp);
          return report(FindingKind::OperandUnderWay,
                        "writes " + std::to_string(event.width) +
                            " bytes of shared memory that a product under way may still read: " + whose +
                            " has not waited for it",
                        who, event.instruction, lane, {reader.instruction, {}, reader.warp, 0});
        }
    }
  }

  void checkFences(Block &block, const WarpId &who, const MemoryEvent &event, const char *verb) {
    for (uint32_t mask = event.mask; mask; mask &= mask - 1) {
      uint64_t begin = event.addresses[std::countr_zero(mask)];
      for (uint64_t cell = begin / cellBytes; cell * cellBytes < begin + event.width; ++cell)
        if (const Write &last = block.writes[cell]; last.sequence && !isFenced(block, who, last))
          return report(FindingKind::MissingFence,
                        std::string(verb) + " what " +
                            (last.warp == who.warp ? "its warp" : "warp " + std::to_string(last.warp)) +
                            " has written, and no fence.proxy.async of the thread that wrote, with a barrier "
                            "behind it, lies between",
                        who, event.instruction, 0, {last.instruction, {}, last.warp, last.lane});
    }
  }

  static bool isFenced(const Block &block, const WarpId &who, const Write &write) {
    const auto &fences = block.fences[write.warp];
    auto fence =
        std::upper_bound(fences.begin(), fences.end(), write.sequence,
                         [](uint64_t sequence, const ProxyFence &one) { return sequence < one.sequence; });
    while (fence != fences.end() && !(fence->mask >> write.lane & 1))
      ++fence;
    if (fence == fences.end())
      return false;
    Epoch epoch;
    epoch.block = who.block;
    epoch.clock = fence->clock;
    epoch.warp = write.warp;
    return block.clocks[who.warp].isAfter(epoch);
  }

  void report(FindingKind kind, std::string message, const WarpId &who, uint32_t instruction, unsigned lane,
              Site other) {
    const std::array<uint32_t, 3> &grid = view_->launch.grid;
    std::array<uint32_t, 3> id{who.block % grid[0], who.block / grid[0] % grid[1],
                               who.block / grid[0] / grid[1]};
    other.block = id;
    view_->findings.add(kind, std::move(message), {instruction, id, who.warp, lane}, other);
  }

  const RunView *view_ = nullptr;
  bool isNeeded_ = false;
  std::vector<std::unordered_map<uint32_t, std::unique_ptr<Block>>> workers_;
};

} // namespace

std::unique_ptr<Observer> checkProductOperands() { return std::make_unique<ProductOperands>(); }

} // namespace tegula::ptxvm
