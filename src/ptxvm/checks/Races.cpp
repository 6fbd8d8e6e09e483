// The race check: happens-before over warps, an epoch for each cell of memory (Shadow.h). Shared
// memory belongs to a block and its thread; global memory is one table of pages, locked in shards.
#include "ptxvm/Run.h"
#include "ptxvm/checks/Checks.h"
#include "ptxvm/checks/Overlap.h"
#include "ptxvm/checks/Shadow.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace tegula::ptxvm {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr uint32_t pieceBytes = 16; // of an operand of a product
// Bulk copies write by themselves: those of a barrier are an agent beside the warps, and its epochs have the
// warp that issued the copy in place of a lane.
constexpr uint32_t firstCopier = 32, agentsWithCopiers = 64;

// What releases have left at an address: for all, and for each block where their scope ends.
struct Location {
  Published wide;
  std::map<uint32_t, Published> narrow;
};

struct Page {
  Cells cells{kPageBytes / cellBytes};
  std::unordered_map<uint64_t, Location> locations;
};

struct Shard {
  std::mutex mutex;
  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages;
};

struct Block {
  Block(uint32_t block, uint32_t agents, size_t sharedBytes)
      : shared((sharedBytes + cellBytes - 1) / cellBytes) {
    for (uint32_t agent = 0; agent < agents; ++agent)
      clocks.emplace_back(block, agent, agents);
  }
  // Who writes for a barrier's copies.
  uint32_t copierOf(uint64_t barrier) {
    auto [copier, isNew] = copiers.try_emplace(barrier, firstCopier + uint32_t(copiers.size()) %
                                                                          (agentsWithCopiers - firstCopier));
    return copier->second;
  }
  std::vector<WarpClock> clocks;        // of the warps and, where there are bulk copies, of those
  std::map<uint64_t, uint32_t> copiers; // by mbarrier
  std::map<uint64_t, Epoch> inits;      // of mbarriers
  PhaseClocks phases;
  Cells shared;
  std::unordered_map<uint64_t, Location> locations; // in shared memory
  std::map<uint32_t, Published> arrived;            // by barrier, since its last completion
};

bool isRelease(Semantics s) {
  return s == Semantics::Release || s == Semantics::AcquireRelease || s == Semantics::Sequential;
}
bool isAcquire(Semantics s) {
  return s == Semantics::Acquire || s == Semantics::AcquireRelease || s == Semantics::Sequential;
}

class Races : public Observer {
public:
  explicit Races(RaceOptions options) : options_(options) {}

  void runBegins(const RunView &view) override {
    view_ = &view;
    workers_.clear();
    workers_.resize(view.workers);
    for (Shard &shard : shards_)
      shard.pages.clear();
    const auto &instructions = view.kernel.instructions;
    bool hasBulk = std::any_of(instructions.begin(), instructions.end(), [](const Instruction &instruction) {
      return instruction.text.find("cp.async.bulk") != std::string_view::npos;
    });
    agents_ = hasBulk ? agentsWithCopiers : view.warpsPerBlock;
  }

  void blockBegins(uint32_t worker, uint32_t block, std::span<std::byte> shared) override {
    workers_[worker][block] = std::make_unique<Block>(block, agents_, shared.size());
  }
  void blockEnds(uint32_t worker, uint32_t block) override { workers_[worker].erase(block); }

  void memory(const WarpId &who, const MemoryEvent &event) override {
    bool isChecked = event.space == Space::Global || event.space == Space::Shared;
    bool isOfCopier = event.isBulk && event.kind == AccessKind::Store && event.space == Space::Shared;
    if (!isChecked || event.kind == AccessKind::Prefetch || isOfCopier)
      return;
    Block &block = blockOf(who);
    bool isAtomic = event.kind == AccessKind::Atomic || event.kind == AccessKind::Reduction;
    bool strong = isAtomic || event.semantics != Semantics::Weak;
    if (strong && event.kind != AccessKind::Store)
      readStrongly(block, who, event);
    if (strong && event.kind != AccessKind::Load)
      writeStrongly(block, who, event);
    checkAccess(block, who, event, strong);
  }

  void barrierArrives(const WarpId &who, const BarrierEvent &event) override {
    Block &block = blockOf(who);
    Published &arrived = block.arrived[event.id];
    arrived = joined(arrived, block.clocks[who.warp].publish());
  }

  void barrierCompletes(uint32_t worker, uint32_t blockNumber, uint32_t id, std::span<const uint32_t>,
                        std::span<const uint32_t> waiters) override {
    Block &block = *workers_[worker].at(blockNumber);
    Published arrived = std::exchange(block.arrived[id], nullptr);
    for (size_t warp = 0; warp < waiters.size(); ++warp)
      if (waiters[warp]) // the mask of its lanes
        block.clocks[warp].acquire(arrived);
  }

  void warpSync(const WarpId &who, const WarpSyncEvent &event) override {
    if (event.ordersMemory)
      blockOf(who).clocks[who.warp].tick();
  }

  // The copy has written and read by now: as if the lane that waited for it did both here. What touched
  // its memory in between, the check of copies reports.
  void copyCompletes(const WarpId &who, const CopyEvent &event, bool waited) override {
    if (!waited)
      return;
    Block &block = blockOf(who);
    const WarpClock &clock = block.clocks[who.warp];
    Epoch epoch{who.block, clock.now(), event.instruction, uint8_t(who.warp), 0, false};
    for (uint32_t mask = event.mask; mask; mask &= mask - 1) {
      unsigned lane = unsigned(std::countr_zero(mask));
      epoch.lane = uint8_t(lane);
      auto write = [&](Cell &cell, uint64_t, unsigned) { settle(cell, epoch); };
      auto read = [&](Cell &cell, uint64_t, unsigned) {
        touch(cell, {epoch, true, false, false}, clock, false);
      };
      eachCell(block, Space::Shared, event.to[lane], event.width, write);
      eachCell(block, Space::Global, event.from[lane], event.sizes[lane], read);
    }
  }

  void phaseBegins(const WarpId &who, const PhaseEvent &event) override {
    Block &block = blockOf(who);
    block.inits[event.barrier] = {
        who.block, block.clocks[who.warp].now(), event.instruction, uint8_t(who.warp), 0, false};
  }
  void phaseArrives(const WarpId &who, const PhaseEvent &event) override {
    Block &block = blockOf(who);
    checkInit(block, who, event);
    block.phases.arrive(event.barrier, block.clocks[who.warp].publish());
  }
  void phaseCompletes(uint32_t worker, uint32_t block, uint64_t barrier) override {
    workers_[worker].at(block)->phases.complete(barrier);
  }
  void phaseWaited(const WarpId &who, const PhaseEvent &event) override {
    Block &block = blockOf(who);
    checkInit(block, who, event);
    block.clocks[who.warp].acquire(block.phases.completed(event.barrier));
  }

  void bulkIssued(const WarpId &who, const BulkEvent &event) override {
    Block &block = blockOf(who);
    uint32_t copier = block.copierOf(event.barrier);
    WarpClock &clock = block.clocks[copier];
    clock.tick(); // what was complete before does not speak for this copy
    clock.acquire(block.clocks[who.warp].publish());
    Epoch epoch{who.block, clock.now(), event.instruction, uint8_t(copier), uint8_t(who.warp), false};
    std::optional<Conflict> first;
    for (const BulkPart &part : event.parts) {
      auto write = [&](Cell &cell, uint64_t, unsigned) {
        std::optional<Conflict> found = touch(cell, {epoch, false, true, false}, clock, false);
        first = first ? first : found;
      };
      auto read = [&](Cell &cell, uint64_t, unsigned) {
        std::optional<Conflict> found = touch(cell, {epoch, true, false, false}, clock, false);
        first = first ? first : found;
      };
      eachCell(block, Space::Shared, part.to, part.bytes, write);
      if (part.from)
        eachCell(block, Space::Global, part.from, part.bytes, read);
    }
    if (first)
      reportCopy(who, event, *first);
  }
  void bulkCompletes(const WarpId &who, const BulkEvent &event) override {
    Block &block = blockOf(who);
    block.phases.arrive(event.barrier, block.clocks[block.copierOf(event.barrier)].publish());
  }

  // It may have read only now; and written, when that is waited for. What touched either in between, the
  // check of bulk stores reports.
  void storeRead(const WarpId &who, const StoreEvent &event) override {
    Block &block = blockOf(who);
    const WarpClock &clock = block.clocks[who.warp];
    Epoch epoch{who.block, clock.now(), event.instruction, uint8_t(who.warp), uint8_t(event.lane), false};
    for (const StorePart &part : event.parts)
      eachCell(block, Space::Shared, part.from, part.bytes, [&](Cell &cell, uint64_t, unsigned) {
        touch(cell, {epoch, true, false, false}, clock, false);
      });
  }
  void storeDone(const WarpId &who, const StoreEvent &event) override {
    Block &block = blockOf(who);
    Epoch epoch{who.block,         block.clocks[who.warp].now(), event.instruction,
                uint8_t(who.warp), uint8_t(event.lane),          false};
    for (const StorePart &part : event.parts)
      eachCell(block, Space::Global, part.to, part.bytes,
               [&](Cell &cell, uint64_t, unsigned) { settle(cell, epoch); });
  }

  // It may have read its operands only now.
  void productCompletes(const WarpId &who, const ProductEvent &event) override {
    Block &block = blockOf(who);
    const WarpClock &clock = block.clocks[who.warp];
    Epoch epoch{who.block, clock.now(), event.instruction, uint8_t(who.warp), severalLanes, false};
    for (uint64_t piece : event.pieces)
      eachCell(block, Space::Shared, piece, pieceBytes, [&](Cell &cell, uint64_t, unsigned) {
        touch(cell, {epoch, true, false, false}, clock, false);
      });
  }

  void fence(const WarpId &who, const FenceEvent &event) override {
    WarpClock &clock = blockOf(who).clocks[who.warp];
    if (isAcquire(event.semantics))
      clock.acquire(clock.seen);
    if (isRelease(event.semantics))
      clock.atFence = clock.publish();
  }

private:
  Block &blockOf(const WarpId &who) { return *workers_[who.worker].at(who.block); }
  Shard &shardOf(uint64_t page) { return shards_[page % std::size(shards_)]; }

  Page &pageIn(Shard &shard, uint64_t page) {
    std::unique_ptr<Page> &slot = shard.pages[page];
    if (!slot)
      slot = std::make_unique<Page>();
    return *slot;
  }

  // Calls `f` on the location of each lane, under its lock.
  template <class F> void eachLocation(Block &block, const MemoryEvent &event, F f) {
    for (uint32_t mask = event.mask; mask; mask &= mask - 1) {
      uint64_t address = event.addresses[std::countr_zero(mask)];
      if (event.space == Space::Shared) {
        f(block.locations[address]);
        continue;
      }
      Shard &shard = shardOf(address / kPageBytes);
      std::lock_guard lock(shard.mutex);
      f(pageIn(shard, address / kPageBytes).locations[address]);
    }
  }

  // A strong read learns what releases have left: at once when it acquires, at the next fence else.
  void readStrongly(Block &block, const WarpId &who, const MemoryEvent &event) {
    WarpClock &clock = block.clocks[who.warp];
    bool acquires = isAcquire(event.semantics), inBlock = event.scope == Scope::Block;
    eachLocation(block, event, [&](Location &location) {
      auto narrow = location.narrow.find(who.block);
      for (const Published &published : {inBlock ? Published() : location.wide,
                                         narrow == location.narrow.end() ? Published() : narrow->second}) {
        if (acquires)
          clock.acquire(published);
        else
          clock.seen = joined(clock.seen, published);
      }
    });
  }

  void writeStrongly(Block &block, const WarpId &who, const MemoryEvent &event) {
    WarpClock &clock = block.clocks[who.warp];
    Published past = isRelease(event.semantics) ? clock.publish() : clock.atFence;
    if (!past)
      return;
    // A store ends the releases before it; a read-modify-write goes on with them.
    bool continues = event.kind != AccessKind::Store;
    eachLocation(block, event, [&](Location &location) {
      Published &narrow = location.narrow[who.block];
      narrow = continues ? joined(past, narrow) : past;
      if (event.scope != Scope::Block)
        location.wide = continues ? joined(past, location.wide) : past;
    });
  }

  void checkAccess(Block &block, const WarpId &who, const MemoryEvent &event, bool strong) {
    LaneSet lanes = distinctLanes(event);
    if (lanes.differingLane >= 0 && !strong)
      reportLanes(who, event, lanes);
    const WarpClock &clock = block.clocks[who.warp];
    Access access;
    access.epoch = {who.block, clock.now(), event.instruction, uint8_t(who.warp), 0, strong};
    access.reads = event.kind != AccessKind::Store;
    access.writes = event.kind != AccessKind::Load;
    std::optional<Conflict> first;
    unsigned firstLane = 0;
    for (uint32_t mask = lanes.mask; mask; mask &= mask - 1) {
      unsigned lane = unsigned(std::countr_zero(mask));
      access.epoch.lane = event.byWarp || (lanes.repeated >> lane & 1) ? severalLanes : uint8_t(lane);
      std::optional<Conflict> conflict = touchLane(block, event, lane, access, clock);
      if (conflict && !first) {
        first = conflict;
        firstLane = lane;
      }
    }
    if (first)
      report(who, event, firstLane, *first);
  }

  std::optional<Conflict> touchLane(Block &block, const MemoryEvent &event, unsigned lane, Access access,
                                    const WarpClock &clock) {
    std::optional<Conflict> conflict;
    auto visit = [&](Cell &cell, uint64_t offset, unsigned count) {
      access.storesSame = isStoredAlready(event, lane, offset, count);
      std::optional<Conflict> found = touch(cell, access, clock, options_.lanes);
      if (!conflict)
        conflict = found;
    };
    eachCell(block, event.space, event.addresses[lane], event.width, visit);
    return conflict;
  }

  // Calls `f` on the cells, or parts of cells, of [begin, begin + width): with their place behind `begin` and
  // their bytes.
  template <class F> void eachCell(Block &block, Space space, uint64_t begin, uint32_t width, F f) {
    for (uint64_t address = begin, end = begin + width; address < end;) {
      uint64_t cell = address / cellBytes, next = std::min(end, (cell + 1) * cellBytes);
      unsigned offset = unsigned(address % cellBytes), count = unsigned(next - address);
      auto visit = [&](Cell &c) { f(c, address - begin, count); };
      unsigned bytes = ((1u << count) - 1) << offset;
      if (space == Space::Shared) {
        block.shared.visit(cell, bytes, visit);
      } else {
        Shard &shard = shardOf(address / kPageBytes);
        std::lock_guard lock(shard.mutex);
        pageIn(shard, address / kPageBytes).cells.visit(address % kPageBytes / cellBytes, bytes, visit);
      }
      address = next;
    }
  }

  static bool isStoredAlready(const MemoryEvent &event, unsigned lane, uint64_t offset, unsigned count) {
    if (!event.data || !event.bytes || event.isCopy) // what a copy finds there is lost while it goes on
      return false;
    return std::memcmp(event.data + lane * event.width + offset, event.bytes[lane] + offset, count) == 0;
  }

  static std::string_view verb(const MemoryEvent &event) {
    switch (event.kind) {
    case AccessKind::Load: return "reads";
    case AccessKind::Store: return "writes";
    default: return "updates";
    }
  }

  static std::string subject(const MemoryEvent &event) {
    return std::string(verb(event)) + " " + std::to_string(event.width) + " bytes of " +
           (event.space == Space::Shared ? "shared" : "global") + " memory";
  }

  Site siteOf(uint32_t instruction, uint32_t block, uint32_t warp, uint32_t lane) const {
    const std::array<uint32_t, 3> &grid = view_->launch.grid;
    return {instruction, {block % grid[0], block / grid[0] % grid[1], block / grid[0] / grid[1]}, warp, lane};
  }

  bool isByCopier(const Epoch &epoch) const {
    return agents_ == agentsWithCopiers && epoch.warp >= firstCopier;
  }

  // Others use an mbarrier behind a barrier that lies behind its initialization.
  void checkInit(Block &block, const WarpId &who, const PhaseEvent &event) {
    const Epoch &init = block.inits[event.barrier];
    if (init.warp != who.warp && !block.clocks[who.warp].isAfter(init))
      view_->findings.add(FindingKind::Race,
                          "uses an mbarrier that warp " + std::to_string(init.warp) +
                              " has initialised, and no barrier lies between",
                          siteOf(event.instruction, who.block, who.warp, 0),
                          siteOf(init.instruction, init.block, init.warp, 0));
  }

  // What a bulk copy meets.
  void reportCopy(const WarpId &who, const BulkEvent &event, const Conflict &conflict) {
    const Epoch &earlier = conflict.earlier;
    bool byCopier = isByCopier(earlier);
    view_->findings.add(
        FindingKind::Race,
        std::string(conflict.earlierWrote ? "copies to or from what " : "writes what ") +
            (byCopier ? "another copy" : "warp " + std::to_string(earlier.warp)) +
            (conflict.earlierWrote ? " has written" : " has read") + ", and nothing orders the two",
        siteOf(event.instruction, who.block, who.warp, event.lane),
        siteOf(earlier.instruction, earlier.block, byCopier ? earlier.lane : earlier.warp, 0));
  }

  void report(const WarpId &who, const MemoryEvent &event, unsigned lane, const Conflict &conflict) {
    const Epoch &earlier = conflict.earlier;
    if (isByCopier(earlier)) {
      view_->findings.add(FindingKind::CopyUnderWay,
                          subject(event) + " that a bulk copy " +
                              (conflict.earlierWrote ? "writes" : "reads") +
                              ": its warp has not waited for the phase of the copy's mbarrier",
                          siteOf(event.instruction, who.block, who.warp, lane),
                          siteOf(earlier.instruction, earlier.block, earlier.lane, 0));
      return;
    }
    uint32_t otherLane = earlier.lane == severalLanes ? 0 : earlier.lane;
    std::string message = subject(event) + " that ";
    if (earlier.block != who.block)
      message += "another block ";
    else if (earlier.warp != who.warp)
      message += "warp " + std::to_string(earlier.warp) + " ";
    else
      message += "another lane of its warp ";
    message += conflict.earlierWrote ? "has written" : "has read";
    message += earlier.block != who.block ? ", and nothing orders blocks: an atomic of both would; a load "
                                            "that waits for the other, volatile or not, does not acquire"
                                          : ", and no barrier lies between";
    view_->findings.add(FindingKind::Race, message, siteOf(event.instruction, who.block, who.warp, lane),
                        siteOf(earlier.instruction, earlier.block, earlier.warp, otherLane));
  }

  void reportLanes(const WarpId &who, const MemoryEvent &event, const LaneSet &lanes) {
    unsigned lane = unsigned(lanes.differingLane);
    view_->findings.add(FindingKind::Race, subject(event) + " with different values from several lanes",
                        siteOf(event.instruction, who.block, who.warp, lane),
                        siteOf(event.instruction, who.block, who.warp, unsigned(lanes.differingFrom)));
  }

  RaceOptions options_;
  uint32_t agents_ = 0; // of a block
  const RunView *view_ = nullptr;
  std::vector<std::unordered_map<uint32_t, std::unique_ptr<Block>>> workers_;
  std::array<Shard, 64> shards_;
};

} // namespace

std::unique_ptr<Observer> checkRaces(RaceOptions options) { return std::make_unique<Races>(options); }

} // namespace tegula::ptxvm
