#include "capi/LiveHandles.h"

#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace tegula::capi {

namespace {

struct Table {
  std::shared_mutex mutex;
  std::unordered_map<const void *, Handle> kinds;
};

// Never destroyed: hosts destroy handles while the process ends.
Table &table() {
  static auto *all = new Table;
  return *all;
}

} // namespace

void enter(const void *handle, Handle kind) {
  std::unique_lock lock(table().mutex);
  table().kinds[handle] = kind;
}

bool leave(const void *handle, Handle kind) {
  std::unique_lock lock(table().mutex);
  auto found = table().kinds.find(handle);
  if (found == table().kinds.end() || found->second != kind)
    return false;
  table().kinds.erase(found);
  return true;
}

bool isLive(const void *handle, Handle kind) {
  std::shared_lock lock(table().mutex);
  auto found = table().kinds.find(handle);
  return found != table().kinds.end() && found->second == kind;
}

} // namespace tegula::capi
