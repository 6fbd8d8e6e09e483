#include "drivers/cuda/CopyMaps.h"

#include <bit>
#include <cstdint>

namespace tegula::cuda {
namespace {

// Candidates that are looked at for one whose memory may be reused, from the one unused for the longest time.
constexpr unsigned mostLooks = 64;

// CUDA driver API, "Tensor Map Object Management": elements as their bits, no interleaving, promotion to 256
// bytes in the L2 cache, zeros outside.
bool encode(const Api &api, const CopyMap &map, uint64_t pointer, uint64_t stride, void *to) {
  int type = std::countr_zero(map.elementBytes); // 8, 16, 32 bits without a sign
  if (type == 3)
    type = 4;                                        // 64 bits
  int swizzle = std::countr_zero(map.swizzle()) - 4; // 32, 64, 128 bytes
  unsigned long long extents[3] = {map.columns, map.rows, CopyMap::origins},
                     strides[2] = {stride, CopyMap::unit};
  unsigned box[3] = {map.boxColumns, map.boxRows, 1}, ones[3] = {1, 1, 1};
  constexpr int promotionTo256 = 3;
  return api.tensorMapEncodeTiled(to, type, 3, reinterpret_cast<void *>(pointer), extents, strides, box, ones,
                                  0, swizzle, promotionTo256, 0) == success;
}

} // namespace

size_t CopyMaps::Hash::operator()(const Key &key) const {
  uint64_t hash = 0xcbf29ce484222325;
  for (uint64_t word : key)
    hash = (hash ^ word ^ word >> 29) * 0x9e3779b97f4a7c15;
  return size_t(hash ^ hash >> 32);
}

bool CopyMaps::encodeAll(const Api &api, const Key &key) {
  encoded_.resize(maps_.size());
  for (size_t i = 0; i != maps_.size(); ++i)
    if (!encode(api, maps_[i], key[1 + 2 * i], key[2 + 2 * i], &encoded_[i]))
      return false;
  return true;
}

// While a graph is captured: in a stream of our own, and waits for it, since copies in the caller's would
// become a part of the graph.
bool CopyMaps::copyNow(const Api &api, const Entry &entry) {
  DuringCapture capture(api);
  constexpr unsigned nonBlocking = 1;
  static std::mutex mutex;
  static std::unordered_map<uint64_t, CUstream> streams; // by context
  std::lock_guard guard(mutex);
  CUstream &stream = streams[entry.key[0]];
  if (!stream && api.streamCreate(&stream, nonBlocking) != success)
    return false;
  return api.memcpyHtoDAsync(entry.address, encoded_.data(), encoded_.size() * sizeof(Encoded), stream) ==
             success &&
         api.streamSynchronize(stream) == success;
}

// Launches of this stream come behind the copy; those of others wait for the event. The driver takes the
// bytes of pageable memory before it returns.
bool CopyMaps::copyInStream(const Api &api, Entry &entry, CUstream handle) {
  DuringCapture capture(api); // of another stream
  constexpr unsigned disableTiming = 2;
  if (api.memcpyHtoDAsync(entry.address, encoded_.data(), encoded_.size() * sizeof(Encoded), handle) !=
      success)
    return false;
  if (api.eventCreate(&entry.written, disableTiming) == success &&
      api.eventRecord(entry.written, handle) == success)
    return true;
  if (entry.written)
    api.eventDestroy(entry.written);
  entry.written = nullptr;
  return api.streamSynchronize(handle) == success;
}

// The memory of maps that only this stream has read, the one unused for the longest time: what the stream
// does next comes behind those launches. False: there is none.
bool CopyMaps::giveUpOne(const Api &api, uint64_t stream, uint64_t &memory) {
  unsigned looks = 0;
  for (auto entry = entries_.end(); entry != entries_.begin() && looks != mostLooks; ++looks) {
    --entry;
    if (entry->isPinned || entry->stream != stream || entry->key[0] != wanted_[0])
      continue;
    if (entry->written) // nobody waits for the copy: it is in this stream too
      api.eventDestroy(entry->written);
    memory = entry->address;
    known_.erase(entry->key);
    entries_.erase(entry);
    return true;
  }
  return false;
}

bool CopyMaps::make(const Api &api, Entry &entry, CUstream handle, bool isCaptured) {
  if (!encodeAll(api, entry.key)) {
    entry.address = 0, entry.isPinned = true;
    return true;
  }
  if (!entry.address) {
    DuringCapture capture(api);
    CUdeviceptr memory = 0;
    if (api.memAlloc(&memory, maps_.size() * sizeof(Encoded)) != success)
      return false;
    entry.address = memory;
  }
  bool isOrdered = !isCaptured && api.streamWaitEvent && api.eventQuery;
  return isOrdered ? copyInStream(api, entry, handle) : copyNow(api, entry);
}

// Until the copy is known to have ended, other streams than its own wait for it.
void CopyMaps::orderBehindCopy(const Api &api, Entry &entry, CUstream handle, bool isCaptured) {
  DuringCapture capture(api);
  if (api.eventQuery(entry.written) != success) {
    if (!isCaptured) {
      api.streamWaitEvent(handle, entry.written, 0);
      return;
    }
    api.eventSynchronize(entry.written); // an event from outside has no place in a graph
  }
  api.eventDestroy(entry.written);
  entry.written = nullptr;
}

// The entry of `wanted_`, made where there is none; null: there is no room, or the driver refuses for now.
CopyMaps::Entry *CopyMaps::find(const Api &api, uint64_t stream, CUstream handle, bool isCaptured) {
  bool isPinned = isCaptured || !stream;
  if (auto known = known_.find(wanted_); known != known_.end()) {
    Entry &entry = *known->second;
    entries_.splice(entries_.begin(), entries_, known->second);
    if (entry.written)
      orderBehindCopy(api, entry, handle, isCaptured);
    entry.isPinned |= isPinned || entry.stream != stream;
    return &entry;
  }
  Entry entry{wanted_, 0, stream, isPinned, nullptr};
  // Memory that a graph would keep is made anew: the copy would not come behind the stream's launches.
  if (entries_.size() >= most_ && (isPinned || !giveUpOne(api, stream, entry.address)))
    return nullptr;
  if (!make(api, entry, handle, isCaptured))
    return nullptr; // its memory, if it has some, is not used again
  entries_.push_front(std::move(entry));
  known_[wanted_] = entries_.begin();
  return &entries_.front();
}

CopyMaps::Use CopyMaps::use(const Api &api, std::span<const uint64_t> slots, CUstream stream) {
  if (maps_.empty() || !api.tensorMapEncodeTiled || !api.memcpyHtoDAsync || !api.streamCreate)
    return {};
  CUcontext context = nullptr;
  if (api.ctxGetCurrent(&context) != success)
    return {};
  std::unique_lock lock(mutex_);
  wanted_.assign(1, uint64_t(reinterpret_cast<uintptr_t>(context)));
  for (const CopyMap &map : maps_) {
    std::optional<uint64_t> stride = map.strideIn(slots);
    if (!stride)
      return {};
    wanted_.push_back(slots[map.pointer]);
    wanted_.push_back(*stride);
  }
  if (auto known = known_.find(wanted_);
      known != known_.end() && known->second->isPinned && !known->second->written) {
    uint64_t address = known->second->address;
    return address ? Use{address, std::move(lock)} : Use{};
  }
  // Of a stream that another one keeps from being asked, a graph may be captured.
  int capturing = 0;
  bool isCaptured = api.streamIsCapturing(stream, &capturing) != success || capturing;
  unsigned long long number = 0;
  if (!api.streamGetId || api.streamGetId(stream, &number) != success)
    number = 0;
  else
    ++number; // 0 is none here
  Entry *entry = find(api, number, stream, isCaptured);
  return entry && entry->address ? Use{entry->address, std::move(lock)} : Use{};
}

} // namespace tegula::cuda
