// A file that was opened below a folder, for as long as this lives; and what the system said of one.
#pragma once
#include "base/Status.h"

#include <cerrno>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <unistd.h>

namespace tegula::cache {

class OpenFile {
public:
  // Symbolic links in its place are not followed, and a pipe is not waited for. A new file is ours alone.
  OpenFile(int folder, const std::string &name, int flags)
      : descriptor_(::openat(folder, name.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600)) {}
  ~OpenFile() {
    if (descriptor_ >= 0)
      ::close(descriptor_);
  }
  OpenFile(const OpenFile &) = delete;
  operator int() const { return descriptor_; } // negative: `errno` says why there is none

private:
  int descriptor_;
};

// After a call that set `errno`.
inline Status systemError(const std::string &what) {
  return Status::error(StatusCode::Data, what + ": " + std::strerror(errno));
}

} // namespace tegula::cache
