// The number of threads that a launch uses: set by the host, else by TEGULA_NUM_THREADS, else the
// cores that this process may run on. The environment is read once.
#include "base/Environment.h"
#include "runtime/Launch.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <sched.h>
#include <string_view>
#include <thread>

namespace tegula::runtime {

namespace {

constexpr unsigned mostThreads = 1024;

unsigned coresOfProcess() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0)
    return unsigned(CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

struct Environment {
  unsigned threads = 0; // 0: not said, or not a number
  std::string bad;      // what was said instead of a number

  Environment() {
    const char *text = valueOf(Variable::NumThreads);
    if (!*text)
      return;
    std::string_view view(text);
    auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), threads);
    if (error == std::errc() && end == view.data() + view.size() && threads >= 1 && threads <= mostThreads)
      return;
    threads = 0;
    bad = view;
  }
};

// Leaked: launches may still run while static destructors do.
const Environment &environment() {
  static const Environment *read = new Environment;
  return *read;
}

std::atomic<unsigned> chosen{0};

} // namespace

unsigned threadCount() {
  unsigned count = chosen.load(std::memory_order_relaxed);
  if (count == 0) {
    count = environment().threads ? environment().threads : std::min(coresOfProcess(), mostThreads);
    chosen.store(count, std::memory_order_relaxed);
  }
  return count;
}

void setThreadCount(unsigned threads) {
  chosen.store(std::clamp(threads, 1u, mostThreads), std::memory_order_relaxed);
}

Status threadCountStatus() {
  if (environment().bad.empty())
    return Status::success();
  return Status::error(StatusCode::Launch, "TEGULA_NUM_THREADS is '" + environment().bad +
                                               "'; it must be a number from 1 to " +
                                               std::to_string(mostThreads));
}

} // namespace tegula::runtime
