#include "base/RobustLock.h"

#include <pthread.h>

namespace tegula {
namespace {

// One more in each child than in its parent.
std::atomic<uint32_t> process{1};
// With the library, before any thread of it.
[[maybe_unused]] const int isCounting =
    ::pthread_atfork(nullptr, nullptr, [] { process.fetch_add(1, std::memory_order_relaxed); });

} // namespace

// Says what was found there: 0, or a number of this process where a thread of it is within.
uint32_t RobustLock::Holder::tryToEnter() {
  uint32_t ours = process.load(std::memory_order_relaxed), found = 0;
  while (found != ours)
    if (lock_.process_.compare_exchange_weak(found, ours, std::memory_order_acquire)) {
      process_ = ours;
      isAbandoned_ = found != 0;
      return 0;
    }
  return found;
}

RobustLock::Holder::Holder(RobustLock &lock) : lock_(lock) {
  while (uint32_t found = tryToEnter())
    lock_.process_.wait(found, std::memory_order_relaxed);
}

// Another thread may have taken it over, where this one forked while it was within.
RobustLock::Holder::~Holder() {
  if (process_ && lock_.process_.compare_exchange_strong(process_, 0, std::memory_order_release))
    lock_.process_.notify_one();
}

} // namespace tegula
