// The check of bulk stores: between its issue and the moment when its lane has waited until it was read, a
// store may read its source in shared memory at any time; until its lane has waited for all of it, or its
// block has ended, it may write its destination in global memory. Who writes the former or touches the latter
// in between is reported. It does not matter when the bytes moved in this run.
#include "ptxvm/Run.h"
#include "ptxvm/checks/Checks.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace tegula::ptxvm {
namespace {

// A store under way, and the end of a run of its bytes.
struct Flight {
  uint64_t end = 0;
  uint32_t block = 0, instruction = 0, warp = 0, lane = 0;
  uint64_t number = 0;  // in its block
  bool reduces = false; // each element in one step, in any order with others that do
};

// Runs of bytes by where they begin. Those of one store do not overlap; those of two may.
class Runs {
public:
  void add(uint64_t begin, const Flight &flight) {
    runs_.emplace(begin, flight);
    longest_ = std::max(longest_, flight.end - begin);
  }
  void remove(uint64_t begin, const Flight &flight) {
    auto [first, last] = runs_.equal_range(begin);
    auto it = std::find_if(first, last, [&](const auto &run) {
      return run.second.number == flight.number && run.second.block == flight.block;
    });
    if (it != last)
      runs_.erase(it);
  }
  // The first one in the way; `reduces`: of those that do not.
  std::optional<Flight> find(uint64_t begin, uint64_t end, bool reduces = false) const {
    for (auto it = runs_.lower_bound(begin - std::min(begin, longest_)); it != runs_.end() && it->first < end;
         ++it)
      if (it->second.end > begin && !(reduces && it->second.reduces))
        return it->second;
    return std::nullopt;
  }
  bool empty() const { return runs_.empty(); }

private:
  std::multimap<uint64_t, Flight> runs_;
  uint64_t longest_ = 0;
};

class BulkStores : public Observer {
public:
  void runBegins(const RunView &view) override {
    view_ = &view;
    sources_.clear();
    sources_.resize(view.workers);
    destinations_ = Runs();
    underWay_ = 0;
  }
  void blockEnds(uint32_t worker, uint32_t block) override { sources_[worker].erase(block); }

  void memory(const WarpId &who, const MemoryEvent &event) override {
    if (!underWay_ || event.kind == AccessKind::Prefetch)
      return;
    if (event.space == Space::Shared && event.kind != AccessKind::Load)
      checkSources(who, event);
    if (event.space == Space::Global)
      checkDestinations(who, event);
  }

  // A copy of a box tells of what it reads in global memory only here.
  void bulkIssued(const WarpId &who, const BulkEvent &event) override {
    if (!underWay_)
      return;
    std::lock_guard lock(mutex_);
    for (const BulkPart &part : event.parts)
      if (std::optional<Flight> flight =
              part.from ? destinations_.find(part.from, part.from + part.bytes) : std::nullopt)
        return report(who, event.instruction, event.lane, *flight,
                      "copies bytes of global memory that a store under way may still write");
  }

  void storeIssued(const WarpId &who, const StoreEvent &event) override {
    ++underWay_;
    Runs &sources = sources_[who.worker][who.block];
    std::lock_guard lock(mutex_);
    for (const StorePart &part : event.parts) {
      Flight flight = flightOf(who, event);
      flight.end = part.from + part.bytes;
      sources.add(part.from, flight);
      flight.end = part.to + part.bytes;
      destinations_.add(part.to, flight);
    }
  }
  void storeRead(const WarpId &who, const StoreEvent &event) override {
    for (const StorePart &part : event.parts)
      sources_[who.worker][who.block].remove(part.from, flightOf(who, event));
  }
  void storeDone(const WarpId &who, const StoreEvent &event) override {
    --underWay_;
    std::lock_guard lock(mutex_);
    for (const StorePart &part : event.parts)
      destinations_.remove(part.to, flightOf(who, event));
  }

private:
  static Flight flightOf(const WarpId &who, const StoreEvent &event) {
    return {0, who.block, event.instruction, who.warp, event.lane, event.number, event.reduces};
  }

  template <class F> static void forLanesOf(const MemoryEvent &event, F f) {
    for (uint32_t mask = event.mask; mask; mask &= mask - 1) {
      unsigned lane = unsigned(std::countr_zero(mask));
      if (f(lane, event.addresses[lane], event.addresses[lane] + event.width))
        return;
    }
  }

  void checkSources(const WarpId &who, const MemoryEvent &event) {
    auto known = sources_[who.worker].find(who.block);
    if (known == sources_[who.worker].end() || known->second.empty())
      return;
    forLanesOf(event, [&](unsigned lane, uint64_t begin, uint64_t end) {
      std::optional<Flight> flight = known->second.find(begin, end);
      if (flight)
        report(who, event.instruction, lane, *flight,
               "writes " + std::to_string(event.width) +
                   " bytes of shared memory that a store under way may still read");
      return flight.has_value();
    });
  }

  void checkDestinations(const WarpId &who, const MemoryEvent &event) {
    std::lock_guard lock(mutex_);
    if (destinations_.empty())
      return;
    forLanesOf(event, [&](unsigned lane, uint64_t begin, uint64_t end) {
      bool reduces = event.kind == AccessKind::Reduction || event.kind == AccessKind::Atomic;
      std::optional<Flight> flight = destinations_.find(begin, end, reduces);
      if (flight)
        report(who, event.instruction, lane, *flight,
               std::string(event.kind == AccessKind::Load ? "reads " : "writes ") +
                   std::to_string(event.width) +
                   " bytes of global memory that a store under way may still write");
      return flight.has_value();
    });
  }

  void report(const WarpId &who, uint32_t instruction, unsigned lane, const Flight &flight,
              const std::string &what) {
    std::string whose = flight.block != who.block ? "a thread of another block"
                        : flight.warp != who.warp ? "warp " + std::to_string(flight.warp)
                        : flight.lane == lane     ? "the thread"
                                                  : "another lane of its warp";
    view_->findings.add(FindingKind::CopyUnderWay, what + ": " + whose + " has not waited for it",
                        siteOf(instruction, who.block, who.warp, lane),
                        siteOf(flight.instruction, flight.block, flight.warp, flight.lane));
  }

  Site siteOf(uint32_t instruction, uint32_t block, uint32_t warp, uint32_t lane) const {
    const std::array<uint32_t, 3> &grid = view_->launch.grid;
    return {instruction, {block % grid[0], block / grid[0] % grid[1], block / grid[0] / grid[1]}, warp, lane};
  }

  const RunView *view_ = nullptr;
  std::vector<std::unordered_map<uint32_t, Runs>> sources_; // by worker and block
  std::mutex mutex_;
  Runs destinations_;
  std::atomic<uint64_t> underWay_{0};
};

} // namespace

std::unique_ptr<Observer> checkBulkStores() { return std::make_unique<BulkStores>(); }

} // namespace tegula::ptxvm
