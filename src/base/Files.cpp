#include "base/Files.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <random>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tegula {
namespace {

Status refuse(std::string reason) { return Status::error(StatusCode::Data, std::move(reason)); }
// After a call that set `errno`.
Status systemError() { return refuse(std::strerror(errno)); }

class Descriptor {
public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor &) = delete;
  ~Descriptor() {
    if (number_ >= 0)
      ::close(number_);
  }
  operator int() const { return number_; } // negative: `errno` says why there is none
  // Some file systems tell only now that they did not take what was written.
  Status close() {
    int result = ::close(number_);
    number_ = -1;
    return result == 0 || errno == EINTR ? Status::success() : systemError();
  }

private:
  int number_;
};

Status writeAll(int file, std::initializer_list<std::string_view> pieces) {
  for (std::string_view rest : pieces)
    while (!rest.empty()) {
      ssize_t count = ::write(file, rest.data(), std::min<size_t>(rest.size(), size_t(1) << 30));
      if (count < 0 && errno == EINTR)
        continue;
      if (count <= 0)
        return systemError();
      rest.remove_prefix(size_t(count));
    }
  return Status::success();
}

std::string folderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

// The number of an open file of this process under its path.
std::optional<int> openNumber(const std::string &path) {
  for (std::string_view folder : {"/proc/self/fd/", "/dev/fd/"}) {
    int number = -1;
    const char *end = path.data() + path.size();
    if (path.starts_with(folder) &&
        std::from_chars(path.data() + folder.size(), end, number) == std::from_chars_result{end, {}})
      return number;
  }
  return std::nullopt;
}

// The path that links lead to. Data: there are too many of them.
Result<std::string> followLinks(std::string path) {
  constexpr int mostLinks = 40; // as the system has it
  for (int i = 0; i != mostLinks; ++i) {
    std::error_code error;
    if (openNumber(path) || !std::filesystem::is_symlink(std::filesystem::symlink_status(path, error)))
      return path;
    std::string next = std::filesystem::read_symlink(path, error).string();
    if (error)
      return refuse(error.message());
    path = next.starts_with('/') ? next : folderOf(path) + "/" + next;
  }
  return refuse(std::strerror(ELOOP));
}

// A path beside `path` that most likely nothing has.
std::string nameBeside(const std::string &path) {
  static thread_local std::minstd_rand random{std::random_device()()};
  char digits[16];
  std::string number(digits, std::to_chars(digits, digits + sizeof digits, random(), 36).ptr);
  return folderOf(path) + "/.tegula-" + number + ".tmp";
}

// A new file in the folder of `path`. Most file systems make one without a name, which is gone when the
// process ends, however that happens.
struct Fresh {
  int number;
  std::string name; // "": none yet
};
constexpr mode_t freshMode = 0666; // less the umask
Fresh makeUnnamed(const std::string &path) {
  return {::open(folderOf(path).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, freshMode), ""};
}
Fresh makeNamed(const std::string &path) {
  for (;;) {
    std::string name = nameBeside(path);
    int number = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, freshMode);
    if (number >= 0 || errno != EEXIST)
      return {number, name};
  }
}

// The name that an unnamed file in the folder of `path` now has; "": it can have none here (there is no
// /proc).
std::string giveName(int file, const std::string &path) {
  std::string unnamed = "/proc/self/fd/" + std::to_string(file);
  for (;;) {
    std::string name = nameBeside(path);
    if (::linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0)
      return name;
    if (errno != EEXIST)
      return "";
  }
}

// As a file that it replaces: its mode, and its owner where this user may give files away.
void takeAfter(int file, const struct stat &old) {
  if (::fchown(file, old.st_uid, old.st_gid) == 0 || old.st_uid == ::geteuid())
    ::fchmod(file, old.st_mode & 0777);
}

// nullopt: the file got no name.
std::optional<Status> replace(const std::string &path, Fresh fresh, const struct stat *old,
                              std::initializer_list<std::string_view> pieces) {
  Descriptor file(fresh.number);
  Status status = writeAll(file, pieces);
  if (status.ok() && old)
    takeAfter(file, *old);
  if (status.ok() && fresh.name.empty() && (fresh.name = giveName(file, path)).empty())
    return std::nullopt;
  if (Status closed = file.close(); status.ok())
    status = closed;
  if (status.ok() && ::rename(fresh.name.c_str(), path.c_str()) != 0)
    status = systemError();
  if (!status.ok() && !fresh.name.empty())
    ::unlink(fresh.name.c_str());
  return status;
}

// Of what is there, as it is.
Status writeInto(int number, std::initializer_list<std::string_view> pieces) {
  Descriptor file(number);
  if (file < 0)
    return systemError();
  Status status = writeAll(file, pieces);
  Status closed = file.close();
  return status.ok() ? closed : status;
}

} // namespace

Result<RegularFile> RegularFile::open(const std::string &path) {
  // Without a wait for the other end of a pipe; a regular file has none.
  int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (descriptor < 0)
    return systemError();
  RegularFile file(descriptor, 0);
  struct stat status{};
  if (::fstat(descriptor, &status) != 0)
    return systemError();
  if (!S_ISREG(status.st_mode))
    return refuse(S_ISDIR(status.st_mode) ? "it is a folder"
                                          : "it is no file, but a device, a pipe or a socket");
  file.size_ = uint64_t(status.st_size);
  return file;
}

RegularFile::~RegularFile() {
  if (descriptor_ >= 0)
    ::close(descriptor_);
}

Result<size_t> RegularFile::read(char *to, size_t size) {
  size_t done = 0;
  while (done != size) {
    ssize_t count = ::read(descriptor_, to + done, std::min<size_t>(size - done, size_t(1) << 30));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return systemError();
    if (count == 0)
      break;
    done += size_t(count);
  }
  return done;
}

// To its end, which whoever writes it decides about.
static Result<std::string> readStream(int number, uint64_t most) {
  std::string bytes;
  char more[65536];
  for (;;) {
    ssize_t count = ::read(number, more, sizeof more);
    if (count == 0)
      return bytes;
    if (count < 0 && errno == EAGAIN) {
      pollfd waiting{number, POLLIN, 0};
      ::poll(&waiting, 1, -1);
    } else if (count < 0 && errno != EINTR) {
      return systemError();
    } else if (count > 0 && bytes.append(more, size_t(count)).size() > most) {
      return Status::error(StatusCode::Resource, "it has more than the " + std::to_string(most) +
                                                     " bytes that such a file may have");
    }
  }
}

// The open file of this process that a path names, if that is a pipe, a terminal or the like.
static std::optional<int> openStream(const std::string &path) {
  Result<std::string> followed = followLinks(path);
  std::optional<int> number = followed ? openNumber(*followed) : std::nullopt;
  struct stat status{};
  bool isStream = number && ::fstat(*number, &status) == 0 &&
                  (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode) || S_ISCHR(status.st_mode));
  return isStream ? number : std::nullopt;
}

Result<std::string> readGivenFile(const std::string &path, uint64_t most) {
  std::optional<int> stream = openStream(path);
  return stream ? readStream(*stream, most) : readFile(path, most);
}

Result<std::string> readFile(const std::string &path, uint64_t most) {
  Result<RegularFile> file = RegularFile::open(path);
  if (!file)
    return file.status();
  auto tooLarge = [&](uint64_t bytes) {
    return Status::error(StatusCode::Resource, "it has " + std::to_string(bytes) + " bytes, more than the " +
                                                   std::to_string(most) + " that such a file may have");
  };
  if (file->size() > most)
    return tooLarge(file->size());
  std::string bytes(size_t(file->size()), '\0');
  Result<size_t> count = file->read(bytes.data(), bytes.size());
  if (!count)
    return count.status();
  bytes.resize(*count);
  // A file that grows, or one of the system's whose size is not known before.
  char more[4096];
  while ((count = file->read(more, sizeof more)) && *count)
    if (bytes.append(more, *count).size() > most)
      return tooLarge(bytes.size());
  return count ? Result<std::string>(std::move(bytes)) : count.status();
}

Status writeFile(const std::string &path, std::initializer_list<std::string_view> pieces) {
  if (path.empty())
    return refuse("the path is empty");
  Result<std::string> followed = followLinks(path);
  if (!followed)
    return followed.status();
  const std::string &target = *followed;
  if (std::optional<int> number = openNumber(target))
    return writeInto(::fcntl(*number, F_DUPFD_CLOEXEC, 3), pieces);
  struct stat old{};
  bool isThere = ::stat(target.c_str(), &old) == 0;
  if (!isThere && errno != ENOENT)
    return systemError();
  constexpr int flags = O_WRONLY | O_NOCTTY | O_CLOEXEC;
  if (isThere && !S_ISREG(old.st_mode))
    return writeInto(::open(target.c_str(), flags), pieces);
  if (isThere && ::faccessat(AT_FDCWD, target.c_str(), W_OK, AT_EACCESS) != 0)
    return systemError();
  const struct stat *replaced = isThere ? &old : nullptr;
  if (Fresh unnamed = makeUnnamed(target); unnamed.number >= 0)
    if (std::optional<Status> status = replace(target, unnamed, replaced, pieces))
      return *status;
  Fresh fresh = makeNamed(target);
  // A folder that takes no new file, and a file in it that may be written.
  if (fresh.number < 0 && isThere && (errno == EACCES || errno == EPERM || errno == EROFS))
    return writeInto(::open(target.c_str(), flags | O_TRUNC), pieces);
  if (fresh.number < 0)
    return systemError();
  return *replace(target, fresh, replaced, pieces);
}

bool isSameFile(const std::string &one, const std::string &other) {
  struct stat first{}, second{};
  bool isThere = ::stat(one.c_str(), &first) == 0;
  if (isThere != (::stat(other.c_str(), &second) == 0))
    return false;
  if (isThere)
    return S_ISREG(first.st_mode) && first.st_dev == second.st_dev && first.st_ino == second.st_ino;
  // A file of one name in one folder.
  Result<std::string> from = followLinks(one), to = followLinks(other);
  if (!from || !to || ::stat(folderOf(*from).c_str(), &first) != 0 ||
      ::stat(folderOf(*to).c_str(), &second) != 0)
    return false;
  auto nameIn = [](const std::string &path) { return path.substr(path.rfind('/') + 1); };
  return first.st_dev == second.st_dev && first.st_ino == second.st_ino && nameIn(*from) == nameIn(*to);
}

} // namespace tegula
