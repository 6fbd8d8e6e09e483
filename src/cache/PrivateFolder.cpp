#include "cache/PrivateFolder.h"

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tegula::cache {
namespace {

Status refuse(const std::string &path, const std::string &why) {
  return Status::error(StatusCode::Data, "`" + path + "` " + why);
}
Status systemError(const std::string &path, int error = errno) {
  return Status::error(StatusCode::Data, "`" + path + "`: " + std::strerror(error));
}

// Makes the folders of `path`, for this user only. Returns the error that hindered it, which is of no matter
// where the folder is there; 0: none.
int makeAll(const std::string &path) {
  int error = 0;
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    if (::mkdir(path.substr(0, end).c_str(), 0700) != 0 && errno != EEXIST)
      error = errno;
    if (end == path.npos || (error && error != EROFS && error != EACCES))
      return error;
  }
}

// Nobody but this user and root can rename or replace what lies in this folder. In a sticky one (/tmp) only
// the owner of a thing can.
Status checkAbove(const std::string &path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0)
    return systemError(path);
  if (status.st_uid != 0 && status.st_uid != ::geteuid())
    return refuse(path, "belongs to another user");
  if (status.st_mode & (S_IWGRP | S_IWOTH) && !(status.st_mode & S_ISVTX))
    return refuse(path, "can be written to by others");
  return Status::success();
}

} // namespace

Result<PrivateFolder> PrivateFolder::open(const std::string &path, const std::string &name) {
  if (path.empty() || path[0] != '/')
    return refuse(path, "is no absolute path");
  int hindrance = makeAll(path);
  // A symbolic link is as good as its owner: `~/.cache` may be one.
  struct stat link{};
  if (::lstat(path.c_str(), &link) != 0)
    return systemError(path, hindrance ? hindrance : errno);
  if (S_ISLNK(link.st_mode) && link.st_uid != 0 && link.st_uid != ::geteuid())
    return refuse(path, "is a symbolic link of another user");
  char resolved[PATH_MAX];
  if (!::realpath(path.c_str(), resolved))
    return systemError(path);
  std::string above = resolved;
  for (size_t end = above.size(); end != 0 && end != above.npos; end = above.rfind('/', end - 1))
    if (Status status = checkAbove(above.substr(0, end)); !status.ok())
      return status;

  std::string whole = above + "/" + name;
  if (::mkdir(whole.c_str(), 0700) != 0 && errno != EEXIST)
    return systemError(whole);
  int descriptor = ::open(whole.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0)
    return errno == ELOOP || errno == ENOTDIR ? refuse(whole, "is a symbolic link, or no folder")
                                              : systemError(whole);
  PrivateFolder folder(descriptor, whole);
  struct stat status{};
  if (::fstat(descriptor, &status) != 0)
    return systemError(whole);
  if (status.st_uid != ::geteuid())
    return refuse(whole, "belongs to another user");
  if (status.st_mode & (S_IRWXG | S_IRWXO))
    return refuse(whole, "is open to others; its mode should be 0700");
  return folder;
}

PrivateFolder::~PrivateFolder() {
  if (descriptor_ >= 0)
    ::close(descriptor_);
}

bool PrivateFolder::isThere() const {
  struct stat status{};
  return ::fstat(descriptor_, &status) == 0 && status.st_nlink != 0;
}

} // namespace tegula::cache
