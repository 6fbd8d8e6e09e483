#include "capi/LiveHandles.h"

#include <array>
#include <atomic>
#include <thread>
#include <unordered_map>

namespace tegula::capi {

namespace {

struct Row {
  Handle kind;
  size_t count = 0; // how often it was given out
};

// A part of the table. Each launch asks it several times for a few nanoseconds: a thread that finds another
// one here tries again.
class Shard {
public:
  // The handle that was asked for last, if it still lives: without a wait, since a launch asks several times.
  bool wasLast(const void *handle, Handle kind) const {
    uint64_t word = wordOf(handle, kind);
    return word && last_.load(std::memory_order_acquire) == word;
  }
  // Within `with` only.
  void keepLast(const void *handle, Handle kind) {
    last_.store(wordOf(handle, kind), std::memory_order_release);
  }
  void forgetLast() { last_.store(0, std::memory_order_release); }

  template <class Body> auto with(Body body) {
    while (isBusy_.test_and_set(std::memory_order_acquire))
      std::this_thread::yield();
    struct Leave {
      std::atomic_flag &flag;
      ~Leave() { flag.clear(std::memory_order_release); }
    } leave{isBusy_};
    return body(rows_);
  }

private:
  // 0: an address of more than 57 bits, which is looked up each time.
  static uint64_t wordOf(const void *handle, Handle kind) {
    auto bits = uint64_t(reinterpret_cast<uintptr_t>(handle));
    return bits >> 57 ? 0 : bits | (uint64_t(kind) + 1) << 57;
  }

  std::atomic_flag isBusy_;
  std::atomic<uint64_t> last_{0}; // 0: none
  std::unordered_map<const void *, Row> rows_;
};

// Never destroyed: hosts destroy handles while the process ends.
Shard &shardOf(const void *handle) {
  static auto *all = new std::array<Shard, 64>;
  auto bits = reinterpret_cast<uintptr_t>(handle);
  return (*all)[(bits >> 4 ^ bits >> 10) % all->size()];
}

} // namespace

void enter(const void *handle, Handle kind) {
  shardOf(handle).with([&](auto &rows) {
    Row &row = rows[handle];
    row.kind = kind;
    ++row.count;
  });
}

bool leave(const void *handle, Handle kind) {
  Shard &shard = shardOf(handle);
  return shard.with([&](auto &rows) {
    auto found = rows.find(handle);
    if (found == rows.end() || found->second.kind != kind)
      return false;
    if (--found->second.count == 0) {
      rows.erase(found);
      shard.forgetLast();
    }
    return true;
  });
}

bool isLive(const void *handle, Handle kind) {
  Shard &shard = shardOf(handle);
  if (shard.wasLast(handle, kind))
    return true;
  return shard.with([&](auto &rows) {
    auto found = rows.find(handle);
    if (found == rows.end() || found->second.kind != kind)
      return false;
    shard.keepLast(handle, kind);
    return true;
  });
}

} // namespace tegula::capi
