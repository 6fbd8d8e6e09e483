// The arrays of the command line where the target's kernels reach them: themselves on the host, copies on a
// device.
#pragma once
#include "Arguments.h"
#include "Verbs.h"

#include <optional>

namespace tegula::cli {

class Mirror {
public:
  explicit Mirror(std::string target) : target_(std::move(target)) {}

  // Returns what kept the arrays from getting there.
  std::optional<tg::Error> copyIn(Bound &bound);
  std::optional<tg::Error> copyOut();
  // The memory behind the arrays, there.
  const std::vector<tg_memory_range> &ranges() const { return ranges_; }

private:
  std::string target_;
  std::vector<std::pair<Array *, tg::Memory>> copies_;
  std::vector<tg_memory_range> ranges_;
};

// A kernel with its arguments, and their arrays where its target reaches them.
struct Prepared {
  explicit Prepared(const std::string &target) : mirror(target) {}
  std::optional<Opened> opened;
  Bound bound;
  Mirror mirror;
};
// From FILE.py::KERNEL and NAME=VALUE; -1, else an exit code, which has been told.
int prepare(const std::string &kernel, const std::string &target, const std::vector<std::string> &arguments,
            Prepared &out);

} // namespace tegula::cli
