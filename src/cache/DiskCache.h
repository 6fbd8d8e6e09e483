// Bytes by name, in files of one private folder, shared by all processes of a user. An entry is one file,
// which is written beside its place and moved there: readers see it whole or not at all. What a power cut may
// leave of one is for the reader to refuse: entries carry a digest of their own, nothing here waits for a
// disk.
//
// The folder's size is bounded: what was not used for the longest time goes. Safe from several threads and
// processes, which may end at any point.
#pragma once
#include "cache/PrivateFolder.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

namespace tegula::cache {

// A name has up to so many entries, since what they were made from beyond the name differs.
constexpr unsigned slotsOfName = 8;

class DiskCache {
public:
  // In `path` it makes a folder of its own. Data: why there can be none.
  static Result<std::shared_ptr<DiskCache>> open(const std::string &path, uint64_t mostBytes);

  const std::string &path() const { return folder_.path(); }
  bool isThere() const { return folder_.isThere(); }

  // `name` is 64 hexadecimal digits. nullopt: there is no such entry, or it cannot be read.
  std::optional<std::string> get(std::string_view name, unsigned slot) const;
  // Takes the first free slot of the name, or that of its oldest entry. Data: what the system said.
  Status put(std::string_view name, std::string_view bytes);
  // Removes an entry that is damaged.
  void drop(std::string_view name, unsigned slot) const;

  // Of whoever is making an entry of one name: others wait. Ends with its process, however that ends.
  class Turn {
  public:
    Turn(Turn &&other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }
    Turn &operator=(Turn &&other) noexcept {
      std::swap(descriptor_, other.descriptor_);
      return *this;
    }
    ~Turn();

  private:
    friend class DiskCache;
    explicit Turn(int descriptor) : descriptor_(descriptor) {}
    int descriptor_;
  };
  // nullopt: somebody else has it. Where the system has no locks everybody gets one.
  std::optional<Turn> takeTurn(std::string_view name) const;

  struct Usage {
    uint64_t entries = 0, bytes = 0;
  };
  Usage usage() const;
  // Of all entries: name, slot.
  void forEach(const std::function<void(const std::string &name, unsigned slot)> &visit) const;
  // Removes all entries, and what writers left that have ended; how many entries.
  uint64_t clear() const;

  // Of this process.
  mutable std::atomic<uint64_t> hits{0}, misses{0}, puts{0}, refused{0};

private:
  DiskCache(PrivateFolder folder, uint64_t mostBytes) : folder_(std::move(folder)), mostBytes_(mostBytes) {}

  static constexpr size_t shardCount = 16;
  Status write(const std::string &file, std::string_view bytes) const;
  Status moveToSlot(const std::string &file, std::string_view name) const;
  void evict(size_t shard, const std::string &fresh) const;
  void sweep() const;

  const PrivateFolder folder_;
  const uint64_t mostBytes_;
  std::once_flag swept_;
  std::array<std::atomic<uint64_t>, shardCount> unseen_{}; // bytes written since the last look at a shard
};

} // namespace tegula::cache
