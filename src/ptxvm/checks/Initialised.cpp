// The check of memory that nobody has written: one bit a byte, for the shared memory of each block
// and for the buffers that begin uninitialised. An atomic counts as a read and a write.
#include "ptxvm/Run.h"
#include "ptxvm/checks/Checks.h"

#include <atomic>
#include <bit>
#include <unordered_map>
#include <vector>

namespace tegula::ptxvm {
namespace {

class WrittenBytes {
public:
  explicit WrittenBytes(uint64_t bytes) : words_((bytes + 63) / 64), size_(bytes) {}

  uint64_t size() const { return size_; }
  void write(uint64_t begin, uint64_t count) {
    for (uint64_t i = begin; i < begin + count;) {
      auto [bits, next] = part(i, begin + count);
      // Blocks write from several threads; most bytes are written once.
      if ((words_[i / 64].load(std::memory_order_relaxed) & bits) != bits)
        words_[i / 64].fetch_or(bits, std::memory_order_relaxed);
      i = next;
    }
  }
  bool isWritten(uint64_t begin, uint64_t count) const {
    for (uint64_t i = begin; i < begin + count;) {
      auto [bits, next] = part(i, begin + count);
      if ((words_[i / 64].load(std::memory_order_relaxed) & bits) != bits)
        return false;
      i = next;
    }
    return true;
  }

private:
  struct Part {
    uint64_t bits, next;
  };
  static Part part(uint64_t begin, uint64_t end) {
    uint64_t next = std::min(end, (begin / 64 + 1) * 64), count = next - begin;
    uint64_t bits = count == 64 ? ~uint64_t(0) : ((uint64_t(1) << count) - 1) << begin % 64;
    return {bits, next};
  }
  std::vector<std::atomic<uint64_t>> words_;
  uint64_t size_;
};

class Initialised : public Observer {
public:
  void runBegins(const RunView &view) override {
    view_ = &view;
    workers_.clear();
    workers_.resize(view.workers);
    buffers_.clear();
    for (const Buffer &buffer : view.launch.buffers)
      if (!buffer.initialised)
        buffers_.push_back(
            {reinterpret_cast<uint64_t>(buffer.base), std::make_unique<WrittenBytes>(buffer.size)});
  }
  void blockBegins(uint32_t worker, uint32_t block, std::span<std::byte> shared) override {
    workers_[worker][block] = std::make_unique<WrittenBytes>(shared.size());
  }
  void blockEnds(uint32_t worker, uint32_t block) override { workers_[worker].erase(block); }

  void memory(const WarpId &who, const MemoryEvent &event) override {
    if (event.kind == AccessKind::Prefetch)
      return;
    if (event.space == Space::Shared)
      access(*workers_[who.worker].at(who.block), 0, who, event);
    else if (event.space == Space::Global)
      for (const auto &[base, written] : buffers_)
        access(*written, base, who, event);
  }

private:
  void access(WrittenBytes &written, uint64_t base, const WarpId &who, const MemoryEvent &event) {
    uint64_t width = event.width;
    bool reads = event.kind != AccessKind::Store, writes = event.kind != AccessKind::Load, reported = false;
    for (uint32_t mask = event.mask; mask; mask &= mask - 1) {
      unsigned lane = unsigned(std::countr_zero(mask));
      uint64_t offset = event.addresses[lane] - base;
      if (offset >= written.size() || width > written.size() - offset)
        continue;
      if (reads && !reported && !written.isWritten(offset, width)) {
        report(who, event, lane, offset);
        reported = true;
      }
      if (writes)
        written.write(offset, width);
    }
  }

  void report(const WarpId &who, const MemoryEvent &event, unsigned lane, uint64_t offset) {
    const std::array<uint32_t, 3> &grid = view_->launch.grid;
    Site site{event.instruction,
              {who.block % grid[0], who.block / grid[0] % grid[1], who.block / grid[0] / grid[1]},
              who.warp,
              lane};
    view_->findings.add(FindingKind::Uninitialised,
                        "reads " + std::to_string(event.width) + " bytes at offset " +
                            std::to_string(offset) +
                            (event.space == Space::Shared ? " of shared memory" : " of a buffer") +
                            " that nobody has written",
                        site);
  }

  struct Watched {
    uint64_t base;
    std::unique_ptr<WrittenBytes> written;
  };
  const RunView *view_ = nullptr;
  std::vector<std::unordered_map<uint32_t, std::unique_ptr<WrittenBytes>>> workers_;
  std::vector<Watched> buffers_;
};

} // namespace

std::unique_ptr<Observer> checkInitialised() { return std::make_unique<Initialised>(); }

} // namespace tegula::ptxvm
