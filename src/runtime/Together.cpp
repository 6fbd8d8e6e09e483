// Threads of one launch only: they are created behind a closed gate, which opens when all are there.
#include "runtime/Together.h"
#include "runtime/FloatState.h"
#include "runtime/Scratch.h"

#include <atomic>
#include <pthread.h>
#include <signal.h>
#include <vector>

namespace tegula::runtime {

namespace {

struct Together {
  const CpuKernel &kernel;
  const uint64_t *arguments;
  const int64_t *grid;
  Report &report;
  std::atomic<int64_t> next{1}, ready{0}; // program 0 is the caller's
  enum Gate : uint32_t { Closed, Open, Given };
  std::atomic<uint32_t> gate{Closed}; // Given: up, nothing is run
  std::atomic<bool> lacksMemory{false};

  void run(int64_t program, void *scratch) {
    ReportScope scope(report);
    kernel.entry(arguments, grid, program, program + 1, scratch);
  }

  void serve() {
    FloatState defaults;
    Scratch scratch(kernel.scratchBytes);
    if (!scratch.ok())
      lacksMemory = true;
    ready.fetch_add(1);
    ready.notify_one();
    gate.wait(Closed);
    if (gate == Open)
      run(next.fetch_add(1), scratch.data());
  }

  void open(Gate how) {
    gate = how;
    gate.notify_all();
  }
};

void *serveThread(void *argument) {
  static_cast<Together *>(argument)->serve();
  return nullptr;
}

// Creates `count` threads, or as many as can be had. The host's signals are not for them.
std::vector<pthread_t> create(int64_t count, Together &together) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::vector<pthread_t> threads;
  threads.reserve(size_t(count));
  for (pthread_t thread; int64_t(threads.size()) < count; threads.push_back(thread))
    if (pthread_create(&thread, nullptr, serveThread, &together) != 0)
      break;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return threads;
}

} // namespace

Status runTogether(const CpuKernel &kernel, const uint64_t *arguments, const Grid &grid, void *scratch,
                   Report &report) {
  const std::string what =
      "the grid of " + std::to_string(grid.programs()) + " programs is cooperative (launch_cooperative_grid)";
  if (grid.programs() > mostProgramsTogether)
    return Status::error(StatusCode::Launch, what + ", and on cores at most " +
                                                 std::to_string(mostProgramsTogether) +
                                                 " run at the same time, each on a thread of its own");
  const int64_t others = grid.programs() - 1;
  Together together{kernel, arguments, grid.extent.data(), report};
  std::vector<pthread_t> threads = create(others, together);
  for (int64_t ready; (ready = together.ready) != int64_t(threads.size());)
    together.ready.wait(ready);
  bool isComplete = int64_t(threads.size()) == others && !together.lacksMemory;
  together.open(isComplete ? Together::Open : Together::Given);
  if (isComplete)
    together.run(0, scratch);
  for (pthread_t thread : threads)
    pthread_join(thread, nullptr);
  if (!isComplete)
    return Status::error(StatusCode::Resource, what + ", and " +
                                                   (together.lacksMemory ? "the memory" : "the threads") +
                                                   " for all of them cannot be had");
  return Status::success();
}

} // namespace tegula::runtime
