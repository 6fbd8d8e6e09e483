#include "cache/DiskCache.h"
#include "cache/OpenFile.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tegula::cache {
namespace {

// Changes with the layout of the folder, so that versions of this code do not meet in one.
constexpr const char *ownName = "kernels-1";
constexpr const char *newFolder = "new", *lockFile = "turns";
constexpr uint64_t largestEntry = uint64_t(1) << 30;
constexpr time_t secondsOfUse = 3600; // how exactly the time of the last use is known

std::string shardName(size_t shard) { return std::string(1, "0123456789abcdef"[shard]); }
size_t shardOf(std::string_view name) { return size_t(name[0] <= '9' ? name[0] - '0' : name[0] - 'a' + 10); }

// "a/bcd….3": the entry's file below the folder.
std::string fileOf(std::string_view name, unsigned slot) {
  return std::string(name.substr(0, 1)) + "/" + std::string(name.substr(1)) + "." + std::to_string(slot);
}

bool isEntry(std::string_view file) {
  return file.size() == 65 && file[63] == '.' && file[64] >= '0' && file[64] < '0' + int(slotsOfName) &&
         file.substr(0, 63).find_first_not_of("0123456789abcdef") == file.npos;
}

struct Folder {
  Folder(int below, const std::string &name)
      : stream(::fdopendir(::openat(below, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC))) {}
  ~Folder() {
    if (stream)
      ::closedir(stream);
  }
  Folder(const Folder &) = delete;
  // nullptr at the end.
  const char *next() {
    dirent *entry = stream ? ::readdir(stream) : nullptr;
    return entry ? entry->d_name : nullptr;
  }
  int descriptor() const { return stream ? ::dirfd(stream) : -1; }
  DIR *stream;
};

struct Seen {
  std::string file;
  uint64_t bytes;
  timespec used;
};
std::vector<Seen> entriesOf(int below, size_t shard) {
  std::vector<Seen> entries;
  Folder folder(below, shardName(shard));
  struct stat status{};
  while (const char *file = folder.next())
    if (isEntry(file) && ::fstatat(folder.descriptor(), file, &status, AT_SYMLINK_NOFOLLOW) == 0)
      entries.push_back({shardName(shard) + "/" + file, uint64_t(status.st_size), status.st_mtim});
  return entries;
}

bool isOlder(const timespec &a, const timespec &b) {
  return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

// renameat2 of the kernel: a file system without it is told by errno.
int renameUnlessThere(int folder, const std::string &from, const std::string &to) {
  return ::renameat2(folder, from.c_str(), folder, to.c_str(), RENAME_NOREPLACE);
}

} // namespace

Result<std::shared_ptr<DiskCache>> DiskCache::open(const std::string &path, uint64_t mostBytes) {
  Result<PrivateFolder> folder = PrivateFolder::open(path, ownName);
  if (!folder)
    return folder.status();
  return std::shared_ptr<DiskCache>(new DiskCache(std::move(*folder), mostBytes));
}

std::optional<std::string> DiskCache::get(std::string_view name, unsigned slot) const {
  OpenFile file(folder_.descriptor(), fileOf(name, slot), O_RDONLY);
  struct stat status{};
  if (file < 0 || ::fstat(file, &status) != 0 || !S_ISREG(status.st_mode) ||
      uint64_t(status.st_size) > largestEntry)
    return std::nullopt;
  std::string bytes(size_t(status.st_size), '\0');
  for (size_t done = 0; done != bytes.size();) {
    ssize_t count = ::pread(file, bytes.data() + done, bytes.size() - done, off_t(done));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return std::nullopt;
    done += size_t(count);
  }
  // The time of the last use, by which entries are evicted.
  if (::time(nullptr) - status.st_mtim.tv_sec > secondsOfUse)
    ::futimens(file, nullptr);
  return bytes;
}

void DiskCache::drop(std::string_view name, unsigned slot) const {
  ++refused;
  ::unlinkat(folder_.descriptor(), fileOf(name, slot).c_str(), 0);
}

Status DiskCache::write(const std::string &name, std::string_view bytes) const {
  OpenFile file(folder_.descriptor(), name, O_WRONLY | O_CREAT | O_EXCL);
  if (file < 0)
    return systemError(path() + "/" + name);
  while (!bytes.empty()) {
    ssize_t count = ::write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return systemError(path() + "/" + name);
    bytes.remove_prefix(size_t(count));
  }
  return Status::success();
}

Status DiskCache::moveToSlot(const std::string &file, std::string_view name) const {
  int folder = folder_.descriptor();
  std::string oldest;
  timespec oldestUse{};
  for (unsigned slot = 0; slot != slotsOfName; ++slot) {
    std::string place = fileOf(name, slot);
    if (renameUnlessThere(folder, file, place) == 0)
      return Status::success();
    struct stat status{};
    bool isFree = errno != EEXIST && ::fstatat(folder, place.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0;
    // A file system without that call: of two writers at the same time the later one stays.
    if (isFree && ::renameat(folder, file.c_str(), folder, place.c_str()) == 0)
      return Status::success();
    if (isFree)
      return systemError(path() + "/" + place);
    if (::fstatat(folder, place.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        (oldest.empty() || isOlder(status.st_mtim, oldestUse)))
      oldest = place, oldestUse = status.st_mtim;
  }
  if (!oldest.empty() && ::renameat(folder, file.c_str(), folder, oldest.c_str()) == 0)
    return Status::success();
  return systemError(path() + "/" + oldest);
}

Status DiskCache::put(std::string_view name, std::string_view bytes) {
  static std::atomic<uint64_t> count{0};
  int folder = folder_.descriptor();
  size_t shard = shardOf(name);
  for (const std::string &needed : {std::string(newFolder), shardName(shard)})
    if (::mkdirat(folder, needed.c_str(), 0700) != 0 && errno != EEXIST)
      return systemError(path());
  std::call_once(swept_, [&] { sweep(); });
  std::string file = std::string(newFolder) + "/" + std::to_string(::getpid()) + "-" +
                     std::to_string(++count) + "-" + std::string(name.substr(0, 16));
  Status status = write(file, bytes);
  if (status.ok())
    status = moveToSlot(file, name);
  if (!status.ok()) {
    ::unlinkat(folder, file.c_str(), 0);
    return status;
  }
  ++puts;
  // A look at the shard costs a call for each of its entries: after a sixteenth of what it may hold.
  bool isFirst = unseen_[shard].fetch_add(bytes.size()) == 0;
  if (mostBytes_ && (isFirst || unseen_[shard] > mostBytes_ / shardCount / 16)) {
    unseen_[shard] = 1;
    evict(shard, std::string(name.substr(1)));
  }
  return Status::success();
}

// Down to 7/8 of the shard's part of the bound, so that a sweep is paid for by many writes. What was just
// written stays, however large it is.
void DiskCache::evict(size_t shard, const std::string &fresh) const {
  std::vector<Seen> entries = entriesOf(folder_.descriptor(), shard);
  uint64_t most = mostBytes_ / shardCount, bytes = 0;
  for (const Seen &entry : entries)
    bytes += entry.bytes;
  if (bytes <= most)
    return;
  std::ranges::sort(entries, [](const Seen &a, const Seen &b) { return isOlder(a.used, b.used); });
  for (const Seen &entry : entries) {
    if (bytes <= most - most / 8)
      return;
    if (entry.file.compare(2, 63, fresh) == 0)
      continue;
    ::unlinkat(folder_.descriptor(), entry.file.c_str(), 0);
    bytes -= entry.bytes;
  }
}

// Files of writers that ended before they could move them. A writer of another machine may lose one: it
// compiles again another time.
void DiskCache::sweep() const {
  Folder folder(folder_.descriptor(), newFolder);
  while (const char *file = folder.next()) {
    std::string_view name = file;
    pid_t writer = 0;
    std::from_chars(name.data(), name.data() + name.size(), writer);
    if (writer > 0 && ::kill(writer, 0) != 0 && errno == ESRCH)
      ::unlinkat(folder.descriptor(), file, 0);
  }
}

std::optional<DiskCache::Turn> DiskCache::takeTurn(std::string_view name) const {
  int file = ::openat(folder_.descriptor(), lockFile, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0)
    return Turn(-1);
  // One byte of one file a name: a lock of the open file, which a thread or process that ends gives back.
  uint64_t number = 0;
  std::from_chars(name.data(), name.data() + 15, number, 16);
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = off_t(number);
  lock.l_len = 1;
  if (::fcntl(file, F_OFD_SETLK, &lock) == 0)
    return Turn(file);
  bool isTaken = errno == EAGAIN || errno == EACCES;
  ::close(file);
  return isTaken ? std::nullopt : std::optional(Turn(-1));
}

DiskCache::Turn::~Turn() {
  if (descriptor_ < 0)
    return;
  // A process that was forked meanwhile has the same open file: closing it here would not be enough.
  struct flock lock{};
  lock.l_type = F_UNLCK;
  lock.l_whence = SEEK_SET;
  ::fcntl(descriptor_, F_OFD_SETLK, &lock);
  ::close(descriptor_);
}

DiskCache::Usage DiskCache::usage() const {
  Usage usage;
  for (size_t shard = 0; shard != shardCount; ++shard)
    for (const Seen &entry : entriesOf(folder_.descriptor(), shard)) {
      ++usage.entries;
      usage.bytes += entry.bytes;
    }
  return usage;
}

void DiskCache::forEach(const std::function<void(const std::string &, unsigned)> &visit) const {
  for (size_t shard = 0; shard != shardCount; ++shard)
    for (const Seen &entry : entriesOf(folder_.descriptor(), shard))
      visit(entry.file.substr(0, 1) + entry.file.substr(2, 63), unsigned(entry.file.back() - '0'));
}

uint64_t DiskCache::clear() const {
  uint64_t count = 0;
  for (size_t shard = 0; shard != shardCount; ++shard)
    for (const Seen &entry : entriesOf(folder_.descriptor(), shard))
      count += ::unlinkat(folder_.descriptor(), entry.file.c_str(), 0) == 0;
  sweep();
  return count;
}

} // namespace tegula::cache
