// The copy maps of a kernel's launches (base/CopyMap.h), as the device reads them: made when they are first
// asked for, then found again. They lie in the code's constant memory, those of the first hundred or so kinds
// of arguments, or in memory of their own: it is written once and lives as long as the process, so that a
// captured graph may use them whenever it runs. Safe from several threads.
#pragma once
#include "base/CopyMap.h"
#include "drivers/cuda/Api.h"

#include <map>
#include <mutex>
#include <optional>
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

  // Tells a kernel where its maps for these arguments lie in the current context (base/CopyMap.h). 0: there
  // are none, since the kernel needs none, the arguments allow none, or the driver makes none; then the
  // kernel copies without. `code`: the kernel's library, null where the driver has none.
  uint64_t numberOf(const Api &api, CUlibrary code, std::span<const uint64_t> slots);

private:
  // A context, and a pointer and a stride for each map.
  using Key = std::vector<uint64_t>;
  struct Constants {
    CUdeviceptr address = 0;
    size_t used = 0, left = 0; // bytes
  };
  struct Room {
    CUdeviceptr address = 0;
    uint64_t number = 0; // as a kernel is told
  };
  static Constants constantsIn(const Api &api, CUlibrary code);
  std::optional<Room> roomFor(const Api &api, CUlibrary code, uint64_t context, size_t bytes);
  uint64_t make(const Api &api, CUlibrary code, const Key &key);

  const std::vector<CopyMap> maps_;
  std::mutex mutex_;
  std::map<Key, uint64_t> known_;           // 0: the driver makes none
  std::map<uint64_t, Constants> constants_; // by context
};

} // namespace tegula::cuda
