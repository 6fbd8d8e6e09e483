// Launches: every program runs exactly once, whatever the grid, the number of threads and
// the number of callers.
#include "runtime/Launch.h"
#include "runtime/Report.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace tegula;
using namespace tegula::runtime;

namespace {

// Busy for about `nanoseconds`, as a kernel with work would be.
void spin(int64_t nanoseconds) {
  auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(nanoseconds);
  while (std::chrono::steady_clock::now() < end) {
  }
}

// arguments: counters of each program, nanoseconds a program.
void countPrograms(const uint64_t *arguments, const int64_t *, int64_t first, int64_t last, void *) {
  auto *counters = reinterpret_cast<std::atomic<int> *>(arguments[0]);
  for (int64_t program = first; program < last; ++program) {
    spin(int64_t(arguments[1]));
    counters[program].fetch_add(1);
  }
}

bool allOnce(const std::vector<std::atomic<int>> &counters) {
  for (const auto &counter : counters)
    if (counter != 1)
      return false;
  return true;
}

Status launchCounting(std::vector<std::atomic<int>> &counters, int64_t nanoseconds) {
  std::vector<uint64_t> arguments = {reinterpret_cast<uint64_t>(counters.data()), uint64_t(nanoseconds)};
  return launch({countPrograms, 0}, arguments, Grid{{int64_t(counters.size()), 1, 1}});
}

struct LaunchTest : testing::Test {
  void SetUp() override { setThreadCount(4); }
};

TEST_F(LaunchTest, RunsEveryProgramOnce) {
  for (int64_t programs : {1, 2, 3, 7, 64, 1000, 4097})
    for (int64_t nanoseconds : {0, 1000, 30000}) {
      if (programs * nanoseconds > 50'000'000)
        continue;
      std::vector<std::atomic<int>> counters(programs);
      ASSERT_TRUE(launchCounting(counters, nanoseconds).ok());
      EXPECT_TRUE(allOnce(counters)) << programs << " programs of " << nanoseconds << " ns";
    }
}

void recordThreads(const uint64_t *arguments, const int64_t *, int64_t first, int64_t last, void *) {
  auto *ids = reinterpret_cast<std::atomic<uint64_t> *>(arguments[0]);
  for (int64_t program = first; program < last; ++program) {
    spin(2'000'000);
    ids[program] = uint64_t(pthread_self());
  }
}

TEST_F(LaunchTest, SharesLongWorkAndKeepsShortWork) {
  std::vector<std::atomic<uint64_t>> ids(32);
  std::vector<uint64_t> arguments = {reinterpret_cast<uint64_t>(ids.data())};
  ASSERT_TRUE(launch({recordThreads, 0}, arguments, Grid{{32, 1, 1}}).ok());
  std::set<uint64_t> seen(ids.begin(), ids.end());
  EXPECT_GT(seen.size(), 1u);
  EXPECT_LE(seen.size(), 4u);

  setThreadCount(1);
  ASSERT_TRUE(launch({recordThreads, 0}, arguments, Grid{{4, 1, 1}}).ok());
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(ids[i], uint64_t(pthread_self()));
}

void checkGrid(const uint64_t *arguments, const int64_t *grid, int64_t, int64_t last, void *) {
  auto *out = reinterpret_cast<int64_t *>(arguments[0]);
  std::memcpy(out, grid, 3 * sizeof(int64_t));
  out[3] = std::max(out[3], last);
}

TEST_F(LaunchTest, PassesTheExtentsOfTheGrid) {
  setThreadCount(1);
  int64_t out[4] = {};
  std::vector<uint64_t> arguments = {reinterpret_cast<uint64_t>(out)};
  ASSERT_TRUE(launch({checkGrid, 0}, arguments, Grid{{3, 4, 5}}).ok());
  EXPECT_EQ(out[0], 3);
  EXPECT_EQ(out[1], 4);
  EXPECT_EQ(out[2], 5);
  EXPECT_EQ(out[3], 60);
}

void fail(const uint64_t *, const int64_t *, int64_t, int64_t, void *) { ADD_FAILURE() << "a program ran"; }

TEST_F(LaunchTest, EmptyGridsDoNothing) {
  EXPECT_TRUE(launch({fail, 0}, {}, Grid{{0, 1, 1}}).ok());
  EXPECT_TRUE(launch({fail, 0}, {}, Grid{{INT32_MAX, INT32_MAX, 0}}).ok());
}

TEST_F(LaunchTest, RefusesGridsOutOfRange) {
  for (Grid grid : {Grid{{-1, 1, 1}}, Grid{{1, int64_t(INT32_MAX) + 1, 1}}, Grid{{0, 1, -5}},
                    Grid{{INT32_MAX, INT32_MAX, INT32_MAX}}}) {
    Status status = launch({fail, 0}, {}, grid);
    EXPECT_EQ(status.code, StatusCode::Launch);
    EXPECT_NE(status.message.find("grid"), std::string::npos);
  }
}

TEST_F(LaunchTest, RefusesAKernelWithoutCode) {
  EXPECT_EQ(launch({}, {}, Grid{}).code, StatusCode::Internal);
}

// arguments: errors, nanoseconds, bytes. Owns its scratch while it runs.
void useScratch(const uint64_t *arguments, const int64_t *, int64_t first, int64_t last, void *scratch) {
  auto *errors = reinterpret_cast<std::atomic<int> *>(arguments[0]);
  auto *bytes = static_cast<unsigned char *>(scratch);
  if (reinterpret_cast<uint64_t>(scratch) % 64 != 0)
    errors->fetch_add(1);
  for (int64_t program = first; program < last; ++program) {
    std::memset(bytes, int(program), arguments[2]);
    spin(int64_t(arguments[1]));
    for (uint64_t i = 0; i < arguments[2]; ++i)
      if (bytes[i] != (unsigned char)(program))
        errors->fetch_add(1);
  }
}

TEST_F(LaunchTest, GivesEachThreadItsOwnAlignedScratch) {
  std::atomic<int> errors = 0;
  for (uint64_t bytes : {1, 63, 64, 4096, 100, 100000}) {
    std::vector<uint64_t> arguments = {reinterpret_cast<uint64_t>(&errors), 20000, bytes};
    ASSERT_TRUE(launch({useScratch, bytes}, arguments, Grid{{64, 1, 1}}).ok());
  }
  EXPECT_EQ(errors, 0);
}

TEST_F(LaunchTest, ReportsScratchThatCannotBeHad) {
  for (uint64_t bytes : {uint64_t(1) << 55, ~uint64_t(0)})
    EXPECT_EQ(launch({fail, bytes}, {}, Grid{{2, 1, 1}}).code, StatusCode::Resource);
}

TEST_F(LaunchTest, ManyThreadsMayLaunchAtOnce) {
  std::atomic<int> wrong = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 6; ++caller)
    callers.emplace_back([&] {
      for (int repeat = 0; repeat < 50; ++repeat) {
        std::vector<std::atomic<int>> counters(100);
        if (!launchCounting(counters, 2000).ok() || !allOnce(counters))
          wrong.fetch_add(1);
      }
    });
  for (auto &caller : callers)
    caller.join();
  EXPECT_EQ(wrong, 0);
}

// arguments: count of inner programs, errors. Launches from within a program.
void launchInside(const uint64_t *arguments, const int64_t *, int64_t first, int64_t last, void *scratch) {
  auto *errors = reinterpret_cast<std::atomic<int> *>(arguments[0]);
  for (int64_t program = first; program < last; ++program) {
    std::memset(scratch, 7, 128);
    std::vector<uint64_t> inner = {arguments[0], 1000, 128};
    if (!launch({useScratch, 128}, inner, Grid{{50, 1, 1}}).ok() || static_cast<char *>(scratch)[127] != 7)
      errors->fetch_add(1);
  }
}

TEST_F(LaunchTest, AProgramMayLaunch) {
  std::atomic<int> errors = 0;
  std::vector<uint64_t> arguments = {reinterpret_cast<uint64_t>(&errors)};
  ASSERT_TRUE(launch({launchInside, 128}, arguments, Grid{{16, 1, 1}}).ok());
  EXPECT_EQ(errors, 0);
}

TEST_F(LaunchTest, WorksInAForkedChild) {
  std::vector<std::atomic<int>> before(100);
  ASSERT_TRUE(launchCounting(before, 20000).ok()); // the pool exists
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);
    std::vector<std::atomic<int>> counters(100);
    bool right = launchCounting(counters, 20000).ok() && allOnce(counters);
    _exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
  std::vector<std::atomic<int>> after(100);
  EXPECT_TRUE(launchCounting(after, 20000).ok() && allOnce(after));
}

TEST_F(LaunchTest, WorksInAChildForkedDuringALaunch) {
  std::atomic<bool> stop = false;
  std::thread launching([&] {
    while (!stop) {
      std::vector<std::atomic<int>> counters(50);
      (void)launchCounting(counters, 5000);
    }
  });
  for (int repeat = 0; repeat < 20; ++repeat) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(20);
      static std::atomic<int> counters[50];
      uint64_t arguments[] = {reinterpret_cast<uint64_t>(counters), 5000};
      bool right = launch({countPrograms, 0}, arguments, Grid{{50, 1, 1}}).ok();
      for (auto &counter : counters)
        right &= counter == 1;
      _exit(right ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
  }
  stop = true;
  launching.join();
}

#if defined(__x86_64__)
void recordFloatState(const uint64_t *arguments, const int64_t *, int64_t first, int64_t last, void *) {
  for (int64_t program = first; program < last; ++program) {
    spin(500'000);
    reinterpret_cast<unsigned *>(arguments[0])[program] = _mm_getcsr() & 0xffc0;
  }
}

TEST_F(LaunchTest, KernelsSeeTheDefaultFloatStateAndTheHostKeepsItsOwn) {
  unsigned host = _mm_getcsr();
  _mm_setcsr(host | 0x8040); // flush to zero, subnormals are zero
  std::vector<unsigned> states(32);
  std::vector<uint64_t> arguments = {reinterpret_cast<uint64_t>(states.data())};
  Status status = launch({recordFloatState, 0}, arguments, Grid{{32, 1, 1}});
  unsigned behind = _mm_getcsr();
  _mm_setcsr(host);
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(behind & 0x8040, 0x8040u);
  for (unsigned state : states)
    EXPECT_EQ(state, 0x1f80u);
}
#endif

// arguments: a counter of those that came, programs, the number of one that fails instead of coming (or -1).
void meet(const uint64_t *arguments, const int64_t *, int64_t first, int64_t last, void *) {
  auto &came = *reinterpret_cast<std::atomic<int64_t> *>(arguments[0]);
  for (int64_t program = first; program < last; ++program) {
    if (program == int64_t(arguments[2])) {
      tegula_assertion_failed("this one does not come");
      continue;
    }
    came.fetch_add(1);
    while (came < int64_t(arguments[1]))
      if (!tegula_goes_on("here"))
        return;
  }
}

TEST_F(LaunchTest, TheProgramsOfACooperativeGridWaitForEachOther) {
  for (int64_t programs : {1, 2, 37, 200}) {
    std::atomic<int64_t> came = 0;
    uint64_t arguments[] = {reinterpret_cast<uint64_t>(&came), uint64_t(programs), uint64_t(-1)};
    Status status = launch({meet, 64, true}, arguments, Grid{{1, programs, 1}});
    EXPECT_TRUE(status.ok()) << status.message;
    EXPECT_EQ(came, programs);
  }
}

TEST_F(LaunchTest, AFailureEndsTheProgramsThatWaitForIt) {
  for (uint64_t failing : {0, 1, 19}) {
    std::atomic<int64_t> came = 0;
    uint64_t arguments[] = {reinterpret_cast<uint64_t>(&came), 20, failing};
    Status status = launch({meet, 0, true}, arguments, Grid{{20, 1, 1}});
    EXPECT_EQ(status.code, StatusCode::Assertion) << status.message;
  }
}

TEST_F(LaunchTest, ACooperativeGridThatHasNoThreadsIsRefusedAheadOfItsPrograms) {
  std::atomic<int64_t> came = 0;
  uint64_t arguments[] = {reinterpret_cast<uint64_t>(&came), 1025, uint64_t(-1)};
  Status status = launch({meet, 0, true}, arguments, Grid{{5, 205, 1}});
  EXPECT_EQ(status.code, StatusCode::Launch);
  EXPECT_NE(status.message.find("the grid of 1025 programs is cooperative"), std::string::npos)
      << status.message;
  EXPECT_EQ(came, 0);
  arguments[1] = 3;
  status = launch({meet, uint64_t(1) << 60, true}, arguments, Grid{{3, 1, 1}});
  EXPECT_EQ(status.code, StatusCode::Resource) << status.message;
  EXPECT_EQ(came, 0);
}

TEST_F(LaunchTest, ClampsTheNumberOfThreads) {
  setThreadCount(0);
  EXPECT_EQ(threadCount(), 1u);
  setThreadCount(100000);
  EXPECT_EQ(threadCount(), 1024u);
}

} // namespace
