#include "capi/LiveHandles.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <thread>
#include <unordered_map>

#include <pthread.h>

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

  void lock() {
    while (isBusy_.test_and_set(std::memory_order_acquire))
      std::this_thread::yield();
  }
  void unlock() { isBusy_.clear(std::memory_order_release); }
  template <class Body> auto with(Body body) {
    std::lock_guard guard(*this);
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

using Shards = std::array<Shard, 64>;

// Never destroyed: hosts destroy handles while the process ends. While a process is forked no other thread is
// within: the child would have a shard as that thread left it, and busy for ever.
Shards &shards() {
  static Shards *all = [] {
    pthread_atfork([] { std::ranges::for_each(shards(), &Shard::lock); },
                   [] { std::ranges::for_each(shards(), &Shard::unlock); },
                   [] { std::ranges::for_each(shards(), &Shard::unlock); });
    return new Shards;
  }();
  return *all;
}

Shard &shardOf(const void *handle) {
  auto bits = reinterpret_cast<uintptr_t>(handle);
  return shards()[(bits >> 4 ^ bits >> 10) % std::tuple_size_v<Shards>];
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
