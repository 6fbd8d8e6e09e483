#include "drivers/cuda/CopyMaps.h"

#include <bit>
#include <cstdint>

namespace tegula::cuda {
namespace {

// Calls of one kernel with more kinds of arguments than these copy without maps: memory of maps is not freed.
constexpr size_t mostKinds = 65536; // of some hundred bytes each

// Maps of two launches share no line of a cache: one is written while another is read.
constexpr size_t lineBytes = 256;

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

// The code's constant memory for maps in the current context; none where the code has none.
CopyMaps::Constants CopyMaps::constantsIn(const Api &api, CUlibrary code) {
  Constants found;
  size_t bytes = 0;
  if (code && api.libraryGetGlobal &&
      api.libraryGetGlobal(&found.address, &bytes, code, CopyMap::constantsName) == success)
    found.left = bytes;
  return found;
}

// Room for so many bytes of maps: constant memory while some is left, else memory of its own.
std::optional<CopyMaps::Room> CopyMaps::roomFor(const Api &api, CUlibrary code, uint64_t context,
                                                size_t bytes) {
  auto [known, isNew] = constants_.try_emplace(context);
  Constants &constants = known->second;
  if (isNew)
    constants = constantsIn(api, code);
  if (size_t taken = (bytes + lineBytes - 1) / lineBytes * lineBytes; taken <= constants.left) {
    Room room{constants.address + constants.used, CopyMap::inConstants(constants.used)};
    constants.used += taken;
    constants.left -= taken;
    return room;
  }
  Room room;
  if (api.memAlloc(&room.address, bytes) != success)
    return std::nullopt;
  room.number = room.address;
  return room;
}

// Writes them in a stream of their own and waits for that: launches of every stream may read them then.
uint64_t CopyMaps::make(const Api &api, CUlibrary code, const Key &key) {
  struct alignas(64) Encoded {
    std::byte bytes[CopyMap::bytes];
  };
  std::vector<Encoded> all(maps_.size());
  for (size_t i = 0; i != maps_.size(); ++i)
    if (!encode(api, maps_[i], key[1 + 2 * i], key[2 + 2 * i], &all[i]))
      return 0;
  DuringCapture capture(api);
  constexpr unsigned nonBlocking = 1;
  static std::mutex mutex;
  static std::map<uint64_t, CUstream> streams; // by context
  std::lock_guard guard(mutex);
  CUstream &stream = streams[key[0]];
  if (!stream && api.streamCreate(&stream, nonBlocking) != success)
    return 0;
  size_t bytes = all.size() * sizeof(Encoded);
  std::optional<Room> room = roomFor(api, code, key[0], bytes);
  if (!room || api.memcpyHtoDAsync(room->address, all.data(), bytes, stream) != success ||
      api.streamSynchronize(stream) != success)
    return 0;
  return room->number;
}

uint64_t CopyMaps::numberOf(const Api &api, CUlibrary code, std::span<const uint64_t> slots) {
  if (maps_.empty() || !api.tensorMapEncodeTiled || !api.memcpyHtoDAsync || !api.streamCreate)
    return 0;
  CUcontext context = nullptr;
  if (api.ctxGetCurrent(&context) != success)
    return 0;
  Key key;
  key.reserve(1 + 2 * maps_.size());
  key.push_back(uint64_t(reinterpret_cast<uintptr_t>(context)));
  for (const CopyMap &map : maps_) {
    std::optional<uint64_t> stride = map.strideIn(slots);
    if (!stride)
      return 0;
    key.insert(key.end(), {slots[map.pointer], *stride});
  }
  std::lock_guard guard(mutex_);
  auto known = known_.find(key);
  if (known != known_.end())
    return known->second;
  if (known_.size() >= mostKinds)
    return 0;
  return known_[key] = make(api, code, key);
}

} // namespace tegula::cuda
