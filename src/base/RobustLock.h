// A lock for what a forked child uses too, though another thread of its parent was within while it was
// forked: that thread does not exist in the child, where a mutex would stay locked. The child's first thread
// gets in, and is told that what is guarded is as the other left it: to be left where it is, and made anew.
//
// For what is held long, or while a host is called. What is held for moments can wait for a fork instead
// (pthread_atfork). Not recursive.
#pragma once
#include <atomic>
#include <cstdint>

namespace tegula {

class RobustLock {
public:
  RobustLock() = default;
  RobustLock(const RobustLock &) = delete;

  class Holder {
  public:
    // Waits until no thread of this process is within.
    explicit Holder(RobustLock &lock);
    // Does not wait.
    static Holder ifFree(RobustLock &lock) { return Holder(lock, 0); }
    ~Holder();
    Holder(const Holder &) = delete;

    // It is within. Always so, unless it did not wait.
    explicit operator bool() const { return process_ != 0; }
    // A thread of a parent was within when this process was forked.
    bool isAbandoned() const { return isAbandoned_; }

  private:
    Holder(RobustLock &lock, int) : lock_(lock) { tryToEnter(); }
    uint32_t tryToEnter();

    RobustLock &lock_;
    uint32_t process_ = 0;
    bool isAbandoned_ = false;
  };

private:
  // Whose thread is within, as the number of forks behind it plus one; 0: none.
  std::atomic<uint32_t> process_{0};
};

} // namespace tegula
