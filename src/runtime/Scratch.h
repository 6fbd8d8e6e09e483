// Memory that a kernel may use while it runs: one block a thread, kept between launches
// and grown on demand, 64-byte aligned.
#pragma once
#include <cstdint>

namespace tegula::runtime {

// Lends this thread's block for as long as it lives. A launch within a launch on the same
// thread gets a block of its own.
class Scratch {
public:
  explicit Scratch(uint64_t bytes);
  ~Scratch();
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;

  // False: the memory could not be had.
  bool ok() const { return ok_; }
  // Null when no bytes were asked for.
  void *data() const { return data_; }

private:
  void *data_ = nullptr;
  bool ok_ = true, lent_ = false;
};

} // namespace tegula::runtime
