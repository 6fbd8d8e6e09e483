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
  std::atomic_flag isBusy_;
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
  return shardOf(handle).with([&](auto &rows) {
    auto found = rows.find(handle);
    if (found == rows.end() || found->second.kind != kind)
      return false;
    if (--found->second.count == 0)
      rows.erase(found);
    return true;
  });
}

bool isLive(const void *handle, Handle kind) {
  return shardOf(handle).with([&](auto &rows) {
    auto found = rows.find(handle);
    return found != rows.end() && found->second.kind == kind;
  });
}

} // namespace tegula::capi
