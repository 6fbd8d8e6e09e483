// One handler for all launches of the process that watch; it counts. The last of them puts back what was
// there, unless somebody has set another handler since.
#include "runtime/Interrupt.h"

#include <chrono>
#include <mutex>
#include <signal.h>

namespace tegula::runtime {

namespace {

constexpr int64_t patience = 1'000'000; // nanoseconds: a launch that ends sooner pays no system call

std::atomic<int64_t> interrupts{0};
std::mutex mutex;
int watchers = 0;
struct sigaction previous{};

void count(int signal, siginfo_t *info, void *context) {
  interrupts.fetch_add(1, std::memory_order_relaxed);
  if (previous.sa_flags & SA_SIGINFO)
    previous.sa_sigaction(signal, info, context);
  else
    previous.sa_handler(signal);
}

bool isOurs(const struct sigaction &action) {
  return (action.sa_flags & SA_SIGINFO) && action.sa_sigaction == count;
}

void install() {
  struct sigaction now{};
  if (sigaction(SIGINT, nullptr, &now) != 0 || isOurs(now))
    return;
  if (!(now.sa_flags & SA_SIGINFO) && (now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN))
    return;
  previous = now;
  now.sa_sigaction = count;
  now.sa_flags |= SA_SIGINFO;
  sigaction(SIGINT, &now, nullptr);
}

int64_t nanoseconds() {
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

} // namespace

bool Interrupt::hasCome() {
  if (int64_t before = before_.load(std::memory_order_relaxed); before >= 0)
    return interrupts.load(std::memory_order_relaxed) != before;
  int64_t now = nanoseconds(), first = 0;
  if (!asked_.compare_exchange_strong(first, now, std::memory_order_relaxed) && now - first > patience)
    watch();
  return false;
}

void Interrupt::watch() {
  std::lock_guard guard(mutex);
  if (before_.load(std::memory_order_relaxed) >= 0)
    return;
  ++watchers;
  install();
  before_.store(interrupts.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

Interrupt::~Interrupt() {
  if (before_.load(std::memory_order_relaxed) < 0)
    return;
  std::lock_guard guard(mutex);
  struct sigaction now{};
  if (--watchers == 0 && sigaction(SIGINT, nullptr, &now) == 0 && isOurs(now))
    sigaction(SIGINT, &previous, nullptr);
}

} // namespace tegula::runtime
