#include "runtime/OpenMp.h"
#include "runtime/Costs.h"
#include "runtime/FloatState.h"
#include "runtime/Scratch.h"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <mutex>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

namespace tegula::runtime {

namespace {

std::atomic<bool> isForked{false};

// True if this process came from a fork and has not started a program since. The kernel knows, even where the
// fork was before this library was loaded. Where it cannot be asked, the answer that needs no OpenMP is the
// safe one.
bool wasForked() {
  std::FILE *file = std::fopen("/proc/self/stat", "re");
  if (!file)
    return true;
  char text[512];
  size_t length = std::fread(text, 1, sizeof text - 1, file);
  std::fclose(file);
  text[length] = 0;
  const char *name = std::strrchr(text, ')'); // the program's name may contain anything
  unsigned flags = 0;
  constexpr unsigned forkedWithoutExec = 0x40; // PF_FORKNOEXEC
  if (!name || std::sscanf(name + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) != 1)
    return true;
  return flags & forkedWithoutExec;
}

// The number of libraries that this process has loaded, ever: a search that failed is not repeated before
// that changes.
unsigned long long loadedLibraries() {
  unsigned long long count = 0;
  dl_iterate_phdr(
      [](dl_phdr_info *info, size_t, void *data) {
        *static_cast<unsigned long long *>(data) = info->dlpi_adds;
        return 1;
      },
      &count);
  return count;
}

// A thread of the team that regions of this thread run on; 0: none is known. A team belongs to its caller.
thread_local pid_t fellow = 0;

// Nanoseconds that a thread of this process has run; -1: there is no such thread any more.
int64_t runTimeOf(pid_t thread) {
  auto clock = clockid_t(~unsigned(thread) << 3 | 6); // the kernel's name for the clock of one thread
  timespec time;
  return clock_gettime(clock, &time) == 0 ? time.tv_sec * 1'000'000'000 + time.tv_nsec : -1;
}

struct Job {
  Work &work;
  const unsigned threads;
  void *const scratch;
  const pthread_t caller;
  std::atomic<unsigned> entered{1}; // the caller
  std::atomic<pid_t> fellow{0};
};

void runMember(void *data) {
  Job &job = *static_cast<Job *>(data);
  if (pthread_equal(pthread_self(), job.caller)) {
    job.work.run(job.scratch);
    return;
  }
  if (job.entered.fetch_add(1, std::memory_order_relaxed) >= job.threads)
    return; // the team is larger than the launch may be
  job.fellow.store(gettid(), std::memory_order_relaxed);
  FloatState defaults;
  // Without memory this thread does nothing; the others do its share.
  if (Scratch scratch(job.work.scratchBytes()); scratch.ok())
    job.work.run(scratch.data());
}

} // namespace

bool OpenMp::load() {
  void *parallel = dlsym(RTLD_DEFAULT, "GOMP_parallel");
  void *inParallel = dlsym(RTLD_DEFAULT, "omp_in_parallel");
  void *mostThreads = dlsym(RTLD_DEFAULT, "omp_get_max_threads");
  Dl_info home{}, second{}, third{};
  if (!parallel || !inParallel || !mostThreads || !dladdr(parallel, &home) || !dladdr(inParallel, &second) ||
      !dladdr(mostThreads, &third) || home.dli_fbase != second.dli_fbase || home.dli_fbase != third.dli_fbase)
    return false;
  // Kept for good: the host may unload what brought it.
  if (!dlopen(home.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE))
    return false;
  parallel_ = reinterpret_cast<decltype(parallel_)>(parallel);
  inParallel_ = reinterpret_cast<decltype(inParallel_)>(inParallel);
  mostThreads_ = reinterpret_cast<decltype(mostThreads_)>(mostThreads);
  return true;
}

const OpenMp *OpenMp::find() {
  static std::atomic<const OpenMp *> found{nullptr};
  static std::atomic<unsigned long long> searched{0};
  if (isForked.load(std::memory_order_relaxed))
    return nullptr;
  if (const OpenMp *known = found.load(std::memory_order_acquire))
    return known;
  unsigned long long libraries = loadedLibraries();
  if (searched.exchange(libraries, std::memory_order_relaxed) == libraries)
    return nullptr;
  // Two threads may get here at once: both find the same.
  static OpenMp runtime;
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  if (!runtime.load())
    return nullptr;
  if (wasForked()) {
    forget();
    return nullptr;
  }
  found.store(&runtime, std::memory_order_release);
  return &runtime;
}

void OpenMp::forget() { isForked.store(true, std::memory_order_relaxed); }

bool OpenMp::canRun(unsigned threads) const {
  int most = mostThreads_();
  return most > 1 && unsigned(most) * costs.teamShare >= threads;
}

bool OpenMp::isAwake() const {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::microseconds look(costs.lookMicroseconds);
  int64_t before = fellow ? runTimeOf(fellow) : -1;
  if (before < 0)
    return true; // a region will tell
  for (auto start = Clock::now(); Clock::now() - start < look;) {
  }
  return runTimeOf(fellow) > before;
}

void OpenMp::run(Work &work, unsigned threads, void *scratch) const {
  Job job{work, threads, scratch, pthread_self()};
  parallel_(runMember, &job, 0, 0);
  if (pid_t seen = job.fellow.load(std::memory_order_relaxed))
    fellow = seen;
}

} // namespace tegula::runtime
