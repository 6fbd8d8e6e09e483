// Files of users, read and written as a whole. A path may name anything: a device, a pipe, a folder, a link,
// nothing. What cannot be read is told with the system's reason, and nothing waits for what a pipe may bring.
// What is written is there whole or not at all, and whatever is no regular file keeps its place.
#pragma once
#include "base/Status.h"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace tegula {

// A regular file, open for reading.
class RegularFile {
public:
  // Data: why it cannot be read, without its path: "No such file or directory", "it is a folder".
  static Result<RegularFile> open(const std::string &path);
  RegularFile(RegularFile &&other) noexcept : descriptor_(other.descriptor_), size_(other.size_) {
    other.descriptor_ = -1;
  }
  RegularFile &operator=(RegularFile &&) = delete;
  ~RegularFile();

  uint64_t size() const { return size_; } // when it was opened
  // The next bytes, up to `size`; fewer at the end of the file.
  Result<size_t> read(char *to, size_t size);

private:
  RegularFile(int descriptor, uint64_t size) : descriptor_(descriptor), size_(size) {}
  int descriptor_;
  uint64_t size_;
};

// Returns the bytes of a regular file. Data: as above. Resource: it has more than `most`.
Result<std::string> readFile(const std::string &path, uint64_t most);
// The same of a file that a user has named now: a pipe or terminal that is open already (/dev/stdin, or
// /dev/fd/63 of a shell's `<(...)`) is read to its end.
Result<std::string> readGivenFile(const std::string &path, uint64_t most);

// Writes the pieces, one behind the other, to a file. A link is followed to the file that it names. That gets
// its new content at once, in the place of the old one, and keeps its mode; a process that ends meanwhile
// leaves nothing. What is there and no regular file (a device, a pipe, the standard output under its path) is
// written to, and so is a file that may be written in a folder that may not. Data: why that failed, without
// the path; a file that was to be replaced is as it was.
Status writeFile(const std::string &path, std::initializer_list<std::string_view> pieces);

// Returns true if both lead to one file, which need not be there yet. Devices and pipes are no files.
bool isSameFile(const std::string &one, const std::string &other);

} // namespace tegula
