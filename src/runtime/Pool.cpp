// Workers sleep on `generation`. A launch publishes its work, opens `gate` and raises the
// generation; a worker enters by counting itself in the gate while it is open. The caller
// closes the gate when no chunk is left and waits only for workers that have entered: one
// that wakes late finds the gate closed, and nobody waits for it. `work` changes only
// while the gate is closed and empty.
#include "runtime/Pool.h"
#include "runtime/Costs.h"
#include "runtime/FloatState.h"
#include "runtime/OpenMp.h"
#include "runtime/Scratch.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <pthread.h>
#include <signal.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tegula::runtime {

Work::Work(const CpuKernel &kernel, const uint64_t *arguments, const int64_t *grid, int64_t first,
           int64_t end, unsigned threads, Report &report)
    : kernel_(kernel), arguments_(arguments), grid_(grid), report_(report), end_(end),
      smallest_(std::max<int64_t>(1, (end - first) / (int64_t(threads) * costs.chunksOfThread))),
      threads_(threads), next_(first) {}

void Work::run(void *scratch) {
  ReportScope scope(report_);
  int64_t first = next_.load(std::memory_order_relaxed);
  while (first < end_ && !report_.failed()) {
    int64_t share = std::max(smallest_, (end_ - first) / (int64_t(threads_) * costs.sharesOfRest));
    int64_t last = std::min(end_, first + share);
    if (!next_.compare_exchange_weak(first, last, std::memory_order_relaxed))
      continue;
    kernel_.entry(arguments_, grid_, first, last, scratch);
    first = next_.load(std::memory_order_relaxed);
  }
}

namespace {

constexpr uint32_t openBit = uint32_t(1) << 31;
constexpr std::chrono::microseconds spinTime(costs.spinMicroseconds);

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

// Waits until `word` is no longer `old`: spins briefly, then sleeps.
void waitWhile(const std::atomic<uint32_t> &word, uint32_t old) {
  auto start = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < 64; ++i, pause())
      if (word.load(std::memory_order_acquire) != old)
        return;
  } while (std::chrono::steady_clock::now() - start < spinTime);
  word.wait(old, std::memory_order_acquire);
}

struct Pool {
  alignas(64) std::atomic<uint32_t> generation{0};
  alignas(64) std::atomic<uint32_t> gate{0}; // openBit, and the number of workers inside
  std::atomic<uint32_t> limit{0};            // workers that may be inside
  Work *work = nullptr;
  unsigned workers = 0;

  bool enter() {
    uint32_t seen = gate.load(std::memory_order_relaxed);
    while ((seen & openBit) && (seen & ~openBit) < limit.load(std::memory_order_relaxed))
      if (gate.compare_exchange_weak(seen, seen + 1, std::memory_order_acquire, std::memory_order_relaxed))
        return true;
    return false;
  }

  void leave() {
    if (gate.fetch_sub(1, std::memory_order_acq_rel) == 1) // closed, and the last one
      gate.notify_one();
  }

  [[noreturn]] void serve() {
    FloatState defaults;
    for (uint32_t seen = 0;;) {
      waitWhile(generation, seen);
      seen = generation.load(std::memory_order_acquire);
      if (!enter())
        continue;
      // Without memory this worker does nothing; the others do its share.
      if (Scratch scratch(work->scratchBytes()); scratch.ok())
        work->run(scratch.data());
      leave();
    }
  }

  // Fewer threads than asked for (limits of the process) make launches slower, not wrong.
  void grow(unsigned count);

  void run(Work &job, unsigned threads, void *scratch) {
    grow(threads - 1);
    work = &job;
    limit.store(threads - 1, std::memory_order_relaxed);
    gate.store(openBit, std::memory_order_release);
    generation.fetch_add(1, std::memory_order_release);
    generation.notify_all();
    job.run(scratch);
    uint32_t inside = gate.fetch_and(~openBit, std::memory_order_acq_rel) & ~openBit;
    for (; inside != 0; inside = gate.load(std::memory_order_acquire))
      waitWhile(gate, inside);
  }
};

// The pool is never destroyed: its threads may still run while static destructors do.
Pool *pool = nullptr;
std::atomic<bool> busy{false};

void *serveThread(void *argument) {
  static_cast<Pool *>(argument)->serve();
  return nullptr;
}

void Pool::grow(unsigned count) {
  if (workers >= count)
    return;
  // The host's signals are not for our threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (; workers < count; ++workers) {
    pthread_t thread;
    if (pthread_create(&thread, nullptr, serveThread, this) != 0)
      break;
    pthread_detach(thread);
    pthread_setname_np(thread, "tegula");
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// The threads do not exist in a forked child, and one of them may have held anything.
void forgetThreads() {
  OpenMp::forget();
  pool = nullptr;
  busy.store(false, std::memory_order_relaxed);
}

} // namespace

bool runOnPool(Work &work, unsigned threads, void *scratch) {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, forgetThreads); });
  const OpenMp *openMp = OpenMp::find();
  if (openMp && openMp->isInRegion())
    return false;
  if (busy.exchange(true, std::memory_order_acquire))
    return false;
  if (openMp && openMp->canRun(threads) && openMp->isAwake()) {
    openMp->run(work, threads, scratch);
  } else {
    if (!pool)
      pool = new Pool;
    pool->run(work, threads, scratch);
  }
  busy.store(false, std::memory_order_release);
  return true;
}

} // namespace tegula::runtime
