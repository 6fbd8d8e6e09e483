#include "capi/LiveHandles.h"

#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace tegula::capi {

namespace {

struct Row {
  Handle kind;
  size_t count = 0; // how often it was given out
};
struct Table {
  std::shared_mutex mutex;
  std::unordered_map<const void *, Row> rows;
};

// Never destroyed: hosts destroy handles while the process ends.
Table &table() {
  static auto *all = new Table;
  return *all;
}

} // namespace

void enter(const void *handle, Handle kind) {
  std::unique_lock lock(table().mutex);
  Row &row = table().rows[handle];
  row.kind = kind;
  ++row.count;
}

bool leave(const void *handle, Handle kind) {
  std::unique_lock lock(table().mutex);
  auto found = table().rows.find(handle);
  if (found == table().rows.end() || found->second.kind != kind)
    return false;
  if (--found->second.count == 0)
    table().rows.erase(found);
  return true;
}

bool isLive(const void *handle, Handle kind) {
  std::shared_lock lock(table().mutex);
  auto found = table().rows.find(handle);
  return found != table().rows.end() && found->second.kind == kind;
}

} // namespace tegula::capi
