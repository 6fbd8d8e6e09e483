// The number of threads that a launch uses: set by the host, else by TEGULA_NUM_THREADS, else the
// cores that this process may run on. The environment is read once.
#include "base/Environment.h"
#include "runtime/Launch.h"

#include <algorithm>
#include <atomic>
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
  unsigned threads = unsigned(numberOf(Variable::NumThreads).value_or(0)); // 0: not said
  std::string problem = problemOf(Variable::NumThreads);
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
  if (environment().problem.empty())
    return Status::success();
  return Status::error(StatusCode::Launch, environment().problem);
}

} // namespace tegula::runtime
