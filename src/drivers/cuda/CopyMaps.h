// The copy maps of a kernel's launches (base/CopyMap.h), as the device reads them: made when they are first
// asked for, then found again. They lie in memory of the device that is written once and lives as long as the
// process, so that a captured graph may use them whenever it runs. Safe from several threads.
#pragma once
#include "base/CopyMap.h"
#include "drivers/cuda/Api.h"

#include <map>
#include <mutex>
#include <span>
#include <vector>

namespace tegula::cuda {

// While it lives this thread's work belongs to no stream of the caller, and is not refused because some
// thread captures a graph.
class DuringCapture {
public:
  explicit DuringCapture(const Api &api) : api_(api) { api_.threadExchangeStreamCaptureMode(&mode_); }
  ~DuringCapture() { api_.threadExchangeStreamCaptureMode(&mode_); }

private:
  const Api &api_;
  int mode_ = captureModeRelaxed;
};

class CopyMaps {
public:
  explicit CopyMaps(std::span<const CopyMap> maps) : maps_(maps.begin(), maps.end()) {}

  // Of the maps for these arguments in the current context, one behind the other. 0: there are none,
  // since the kernel needs none, the arguments allow none, or the driver makes none; then the kernel copies
  // without.
  uint64_t addressOf(const Api &api, std::span<const uint64_t> slots);

private:
  // A context, and a pointer and a stride for each map.
  using Key = std::vector<uint64_t>;
  uint64_t make(const Api &api, const Key &key);

  const std::vector<CopyMap> maps_;
  std::mutex mutex_;
  std::map<Key, uint64_t> known_; // 0: the driver makes none
};

} // namespace tegula::cuda
