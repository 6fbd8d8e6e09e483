// Lets a user end a launch that does not end by itself, a loop that waits for what never comes, and a compile
// while a program outside of this process works for it. Loops of unknown length ask now and then; the first
// of them to run long puts a handler of SIGINT in front of the host's, which is called as before. Where the
// host has none, the signal ends the process by itself, and nothing is done.
#pragma once
#include <atomic>
#include <cstdint>

namespace tegula::runtime {

// Of one launch or compile. Safe from several threads.
class Interrupt {
public:
  Interrupt() = default;
  ~Interrupt();
  Interrupt(const Interrupt &) = delete;

  // True once SIGINT has come, from about a millisecond behind the first call on.
  bool hasCome();
  // From here on, for those who know that they wait.
  void watch();

private:
  std::atomic<int64_t> asked_{0};   // when it was called first, in nanoseconds; 0: not yet
  std::atomic<int64_t> before_{-1}; // signals that had come when the watch began; -1: it has not
};

} // namespace tegula::runtime
