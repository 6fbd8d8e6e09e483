// The check of asynchronous copies: between its issue and the moment when its lane has waited for it, a
// copy may write its destination and read its source at any time. Who else touches either in between is
// reported, with the cp.async. It does not matter when the bytes arrived in this run.
//
// The manual does not say what becomes of a copy whose lane ends without a wait; by the stricter reading,
// which this check takes, that is an error.
#include "ptxvm/Run.h"
#include "ptxvm/checks/Checks.h"
#include "ptxvm/checks/Shadow.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <mutex>
#include <unordered_map>

namespace tegula::ptxvm {
namespace {

constexpr uint64_t kChunk = 16; // no copy is larger, and each lies within one

// A lane's copy that is under way.
struct Flight {
  uint32_t block = 0;
  uint64_t number = 0; // of the copy in its block; 0: none
  uint32_t instruction = 0;
  uint8_t warp = 0, lane = 0;
  uint64_t begin = 0, end = 0; // of the source
};

struct Block {
  explicit Block(size_t sharedBytes) : cells((sharedBytes + cellBytes - 1) / cellBytes) {}
  std::vector<Flight> cells; // by destination
  uint32_t underWay = 0;     // lanes' copies
  std::vector<Flight> left;  // of lanes that ended
};

// Sources under way, by chunk.
struct Shard {
  std::mutex mutex;
  std::unordered_multimap<uint64_t, Flight> sources;
};

class AsyncCopies : public Observer {
public:
  void runBegins(const RunView &view) override {
    view_ = &view;
    workers_.clear();
    workers_.resize(view.workers);
    for (Shard &shard : shards_)
      shard.sources.clear();
    sources_ = 0;
  }
  void blockBegins(uint32_t worker, uint32_t block, std::span<std::byte> shared) override {
    workers_[worker][block] = std::make_unique<Block>(shared.size());
  }
  void blockEnds(uint32_t worker, uint32_t block) override {
    for (const Flight &flight : workers_[worker].at(block)->left)
      eraseSource(flight);
    workers_[worker].erase(block);
  }

  void memory(const WarpId &who, const MemoryEvent &event) override {
    if (event.kind == AccessKind::Prefetch)
      return;
    Block &block = *workers_[who.worker].at(who.block);
    if (event.space == Space::Shared && block.underWay)
      checkDestinations(block, who, event);
    if (event.space == Space::Global && event.kind != AccessKind::Load && sources_)
      checkSources(who, event);
  }

  void copyIssued(const WarpId &who, const CopyEvent &event) override {
    Block &block = *workers_[who.worker].at(who.block);
    forEach(who, event, [&](const Flight &flight, uint64_t to) {
      for (uint64_t cell = to / cellBytes; cell < (to + event.width) / cellBytes; ++cell)
        block.cells[cell] = flight;
      ++block.underWay;
      if (flight.begin == flight.end)
        return;
      Shard &shard = shardOf(flight.begin);
      std::lock_guard lock(shard.mutex);
      shard.sources.emplace(flight.begin / kChunk, flight);
      ++sources_;
    });
  }

  void copyCompletes(const WarpId &who, const CopyEvent &event, bool waited) override {
    Block &block = *workers_[who.worker].at(who.block);
    if (!waited)
      report(FindingKind::CopyUnfinished, "its lanes end and have not waited for it", who, event.instruction,
             unsigned(std::countr_zero(event.mask)), std::nullopt);
    forEach(who, event, [&](const Flight &flight, uint64_t to) {
      if (!waited) { // it stays under way
        block.left.push_back(flight);
        return;
      }
      for (uint64_t cell = to / cellBytes; cell < (to + event.width) / cellBytes; ++cell)
        if (block.cells[cell].number == flight.number && block.cells[cell].lane == flight.lane)
          block.cells[cell] = {};
      --block.underWay;
      eraseSource(flight);
    });
  }

private:
  template <class F> void forEach(const WarpId &who, const CopyEvent &event, F f) {
    for (uint32_t mask = event.mask; mask; mask &= mask - 1) {
      unsigned lane = unsigned(std::countr_zero(mask));
      f({who.block, event.number + 1, event.instruction, uint8_t(who.warp), uint8_t(lane), event.from[lane],
         event.from[lane] + event.sizes[lane]},
        event.to[lane]);
    }
  }

  Shard &shardOf(uint64_t address) { return shards_[address / kChunk % std::size(shards_)]; }

  void eraseSource(const Flight &flight) {
    if (flight.begin == flight.end)
      return;
    Shard &shard = shardOf(flight.begin);
    std::lock_guard lock(shard.mutex);
    auto [first, last] = shard.sources.equal_range(flight.begin / kChunk);
    auto it = std::find_if(first, last, [&](const auto &entry) {
      const Flight &one = entry.second;
      return one.block == flight.block && one.number == flight.number && one.lane == flight.lane;
    });
    if (it == last)
      return;
    shard.sources.erase(it);
    --sources_;
  }

  void checkDestinations(Block &block, const WarpId &who, const MemoryEvent &event) {
    for (uint32_t mask = event.mask; mask; mask &= mask - 1) {
      unsigned lane = unsigned(std::countr_zero(mask));
      uint64_t begin = event.addresses[lane], end = begin + event.width;
      for (uint64_t cell = begin / cellBytes; cell * cellBytes < end; ++cell) {
        const Flight &flight = block.cells[cell];
        if (!flight.number)
          continue;
        bool reads = event.kind == AccessKind::Load;
        report(FindingKind::CopyUnderWay,
               (reads ? "reads " : "writes ") + std::to_string(event.width) +
                   " bytes of shared memory while a copy into it is under way: " + whose(flight, who, lane) +
                   " has not waited for it",
               who, event.instruction, lane, flight);
        return;
      }
    }
  }

  void checkSources(const WarpId &who, const MemoryEvent &event) {
    for (uint32_t mask = event.mask; mask; mask &= mask - 1) {
      unsigned lane = unsigned(std::countr_zero(mask));
      uint64_t begin = event.addresses[lane], end = begin + event.width;
      for (uint64_t chunk = begin / kChunk; chunk * kChunk < end; ++chunk) {
        Shard &shard = shardOf(chunk * kChunk);
        std::lock_guard lock(shard.mutex);
        auto [first, last] = shard.sources.equal_range(chunk);
        for (auto it = first; it != last; ++it) {
          const Flight &flight = it->second;
          if (flight.end <= begin || end <= flight.begin)
            continue;
          report(FindingKind::CopyUnderWay,
                 "writes " + std::to_string(event.width) +
                     " bytes of global memory that a copy under way may still read: " +
                     whose(flight, who, lane) + " has not waited for it",
                 who, event.instruction, lane, flight);
          return;
        }
      }
    }
  }

  static std::string whose(const Flight &flight, const WarpId &who, unsigned lane) {
    if (flight.block != who.block)
      return "a thread of another block";
    if (flight.warp != who.warp)
      return "warp " + std::to_string(flight.warp);
    return flight.lane == lane ? "the thread" : "another lane of its warp";
  }

  Site siteOf(uint32_t instruction, uint32_t block, uint32_t warp, uint32_t lane) const {
    const std::array<uint32_t, 3> &grid = view_->launch.grid;
    return {instruction, {block % grid[0], block / grid[0] % grid[1], block / grid[0] / grid[1]}, warp, lane};
  }

  void report(FindingKind kind, std::string message, const WarpId &who, uint32_t instruction, unsigned lane,
              const std::optional<Flight> &flight) {
    std::optional<Site> other;
    if (flight)
      other = siteOf(flight->instruction, flight->block, flight->warp, flight->lane);
    view_->findings.add(kind, std::move(message), siteOf(instruction, who.block, who.warp, lane), other);
  }

  const RunView *view_ = nullptr;
  std::vector<std::unordered_map<uint32_t, std::unique_ptr<Block>>> workers_;
  std::array<Shard, 64> shards_;
  std::atomic<uint64_t> sources_{0};
};

} // namespace

std::unique_ptr<Observer> checkAsyncCopies() { return std::make_unique<AsyncCopies>(); }

} // namespace tegula::ptxvm
