// A mutex for which a fork waits, so that no thread of the parent is within while a child is made: the child
// finds it free, and what it guards whole. For tables of the process, of static lifetime and held for
// moments; nobody takes another such mutex within. What is held longer: RobustLock.h.
#pragma once
#include <mutex>

namespace tegula {

class ForkMutex {
public:
  ForkMutex();
  ForkMutex(const ForkMutex &) = delete;

  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

private:
  std::mutex mutex_;
};

} // namespace tegula
