#include "base/ForkMutex.h"

#include <vector>

#include <pthread.h>

namespace tegula {
namespace {

// Never destroyed: functions of static lifetime end after it would have.
struct All {
  std::mutex mutex; // of the list
  std::vector<ForkMutex *> list;

  void lock() {
    mutex.lock();
    for (ForkMutex *each : list)
      each->lock();
  }
  void unlock() {
    for (ForkMutex *each : list)
      each->unlock();
    mutex.unlock();
  }
  static All &get() {
    static All *all = [] {
      ::pthread_atfork([] { get().lock(); }, [] { get().unlock(); }, [] { get().unlock(); });
      return new All;
    }();
    return *all;
  }
};

} // namespace

ForkMutex::ForkMutex() {
  All &all = All::get();
  std::lock_guard guard(all.mutex);
  all.list.push_back(this);
}

} // namespace tegula
