// The copy maps of a kernel's launches (base/CopyMap.h), as the device reads them: made when they are first
// asked for, then found again. They lie in memory of the device. Maps of a graph, or of launches in several
// streams, live as long as the process, so that they may be read whenever; others may give their memory to
// maps for other arguments of the same stream, which the stream itself puts behind their launches. Nothing
// waits on the host but what is made while a graph is captured. Safe from several threads.
#pragma once
#include "base/CopyMap.h"
#include "drivers/cuda/Api.h"

#include <list>
#include <mutex>
#include <span>
#include <unordered_map>
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
  // More kinds of arguments than `most` copy without maps, unless maps can give up their memory.
  static constexpr size_t mostKinds = 4096;
  explicit CopyMaps(std::span<const CopyMap> maps, size_t most = mostKinds)
      : maps_(maps.begin(), maps.end()), most_(most) {}

  // The maps of a launch stay as they are while this lives: until the driver has the launch.
  struct Use {
    uint64_t address = 0;
    std::unique_lock<std::mutex> lock;
  };
  // Of the maps for these arguments in the current context, one behind the other, for a launch in `stream`.
  // 0: there are none, since the kernel needs none, the arguments allow none, or the driver makes none; then
  // the kernel copies without.
  Use use(const Api &api, std::span<const uint64_t> slots, CUstream stream);

private:
  // A context, and a pointer and a stride for each map.
  using Key = std::vector<uint64_t>;
  struct Hash {
    size_t operator()(const Key &key) const;
  };
  struct Entry {
    Key key;
    uint64_t address = 0;  // 0: the driver makes none
    uint64_t stream = 0;   // the number of the stream of all its launches
    bool isPinned = false; // a graph, several streams, or one without a number: the memory is never reused
    CUevent written = nullptr; // behind the copy; null: it is known to have ended
  };
  using Entries = std::list<Entry>; // the one used last in front

  bool encodeAll(const Api &api, const Key &key);
  Entry *find(const Api &api, uint64_t stream, CUstream handle, bool isCaptured);
  bool make(const Api &api, Entry &entry, CUstream handle, bool isCaptured);
  bool copyNow(const Api &api, const Entry &entry);
  bool copyInStream(const Api &api, Entry &entry, CUstream handle);
  void orderBehindCopy(const Api &api, Entry &entry, CUstream handle, bool isCaptured);
  bool giveUpOne(const Api &api, uint64_t stream, uint64_t &memory);

  const std::vector<CopyMap> maps_;
  const size_t most_;
  std::mutex mutex_;
  Key wanted_; // of the launch at hand
  struct alignas(64) Encoded {
    std::byte bytes[CopyMap::bytes];
  };
  std::vector<Encoded> encoded_; // the same
  Entries entries_;
  std::unordered_map<Key, Entries::iterator, Hash> known_;
};

} // namespace tegula::cuda
