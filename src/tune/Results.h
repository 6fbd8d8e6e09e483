// Keeps the times of tunings in files that the processes of a user share: one file a subject (a kernel on
// a device), one line a measured candidate. Lines are appended in one write each, with a digest: a reader
// takes the lines that are whole, so that a writer may end at any point, and two may write at the same time.
// Nothing here fails a caller.
#pragma once
#include "cache/PrivateFolder.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tegula::tune {

struct Kept {
  std::string call;           // what a call is besides numbers: types, options
  std::vector<int64_t> sizes; // its numbers, by which calls are near to each other
  std::string candidate, digest;
  double median = 0, low = 0, high = 0, least = 0, most = 0; // as of a Row
  bool operator==(const Kept &) const = default;
};

class Results {
public:
  // In `path` it makes a folder of its own. Data: why there can be none.
  static Result<std::shared_ptr<Results>> open(const std::string &path);

  // All that is known of a subject; of one candidate, call and code the last line.
  std::vector<Kept> read(std::string_view subject) const;
  Status add(std::string_view subject, std::span<const Kept> rows) const;

private:
  explicit Results(cache::PrivateFolder folder) : folder_(std::move(folder)) {}
  std::string fileOf(std::string_view subject) const;
  std::string text(const std::string &file) const;
  Status shorten(const std::string &file, const std::string &text) const;

  const cache::PrivateFolder folder_;
};

} // namespace tegula::tune
