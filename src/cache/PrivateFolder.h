// A folder that nobody else can write to, nor put in another's place: code from it is run.
#pragma once
#include "base/Status.h"

#include <string>

namespace tegula::cache {

class PrivateFolder {
public:
  // The folder `name` in the folder `path`; both are made where they are missing. Data: why it is not safe,
  // or what the system said. Safe is: it is ours, nobody else may read or write it, it is no symbolic link;
  // and whoever can replace one of the folders above it is this user or root.
  static Result<PrivateFolder> open(const std::string &path, const std::string &name);

  PrivateFolder(PrivateFolder &&other) noexcept
      : descriptor_(other.descriptor_), path_(std::move(other.path_)) {
    other.descriptor_ = -1;
  }
  PrivateFolder &operator=(PrivateFolder &&) = delete;
  ~PrivateFolder();

  int descriptor() const { return descriptor_; }
  const std::string &path() const { return path_; }
  // False once somebody has removed it.
  bool isThere() const;

private:
  PrivateFolder(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  int descriptor_;
  std::string path_;
};

} // namespace tegula::cache
