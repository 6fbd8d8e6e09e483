// Launches in a process that has an OpenMP runtime (GCC's, loaded here): they run on its team while that
// spins on the cores, else on threads of ours. A program of its own, since a runtime that is found stays.
#include "runtime/Launch.h"
#include "runtime/OpenMp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <dlfcn.h>
#include <pthread.h>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <vector>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace tegula;
using namespace tegula::runtime;

namespace {

using Ids = std::vector<uint64_t>;

uint64_t self() { return uint64_t(pthread_self()); }

void rest(long nanoseconds) {
  timespec time{0, nanoseconds};
  nanosleep(&time, nullptr);
}

// arguments: who ran each program, 0 before.
void recordThreads(const uint64_t *arguments, const int64_t *, int64_t first, int64_t last, void *) {
  auto *ids = reinterpret_cast<uint64_t *>(arguments[0]);
  for (int64_t program = first; program < last; ++program) {
    rest(1'000'000); // others get a turn even on one core
    ids[program] += self();
  }
}

Ids launchRecording(size_t programs = 64) {
  Ids ids(programs, 0);
  std::vector<uint64_t> arguments = {uint64_t(ids.data())};
  EXPECT_TRUE(launch({recordThreads, 0}, arguments, Grid{{int64_t(programs), 1, 1}}).ok());
  return ids;
}

// The same on the team, awake or not.
Ids recordOnTeam(CpuEntry entry, unsigned threads, size_t programs = 64) {
  Ids words(programs, 0);
  std::vector<uint64_t> arguments = {uint64_t(words.data())};
  int64_t grid[3] = {int64_t(programs), 1, 1};
  Report report;
  Work work({entry, 0}, arguments.data(), grid, 0, int64_t(programs), threads, report);
  OpenMp::find()->run(work, threads, nullptr);
  return words;
}

std::set<uint64_t> distinct(const Ids &ids) { return {ids.begin(), ids.end()}; }

struct OpenMpTest : testing::Test {
  static void SetUpTestSuite() {
    ASSERT_EQ(OpenMp::find(), nullptr) << "this program links no OpenMP";
    void *library = dlopen("libgomp.so.1", RTLD_NOW | RTLD_GLOBAL);
    ASSERT_NE(library, nullptr) << dlerror();
    parallel = reinterpret_cast<decltype(parallel)>(dlsym(library, "GOMP_parallel"));
    setTeam = reinterpret_cast<decltype(setTeam)>(dlsym(library, "omp_set_num_threads"));
    ASSERT_NE(OpenMp::find(), nullptr) << "a runtime that is loaded later is found";
    dlclose(library);
    ASSERT_NE(dlopen("libgomp.so.1", RTLD_NOW | RTLD_NOLOAD), nullptr) << "what launches run on stays loaded";
  }
  void SetUp() override {
    setThreadCount(4);
    setTeam(4);
  }

  static std::set<uint64_t> team() {
    Ids ids(16, 0);
    std::atomic<size_t> next{0};
    auto note = [&] { ids[next++] = self(); };
    parallel([](void *data) { (*static_cast<decltype(note) *>(data))(); }, &note, 0, 0);
    ids.resize(next);
    return distinct(ids);
  }

  static inline void (*parallel)(void (*)(void *), void *, unsigned, unsigned) = nullptr;
  static inline void (*setTeam)(int) = nullptr;
};

// A region's threads spin for a while behind it. On a busy machine they may be off their cores when a launch
// looks.
TEST_F(OpenMpTest, AnAwakeTeamRunsTheLaunch) {
  if (std::thread::hardware_concurrency() < 2)
    GTEST_SKIP() << "threads of one core do not spin";
  setThreadCount(2);
  setTeam(2); // a team of more threads than there are cores does not spin
  recordOnTeam(recordThreads, 2);
  bool ran = false;
  for (int turn = 0; turn < 500 && !ran; ++turn) {
    std::set<uint64_t> members = team(), used = distinct(launchRecording(16));
    ASSERT_EQ(members.size(), 2u);
    ran = used.size() > 1 && std::includes(members.begin(), members.end(), used.begin(), used.end());
    EXPECT_EQ(team(), members) << "a launch leaves the team as it was";
  }
  EXPECT_TRUE(ran);
}

TEST_F(OpenMpTest, ASleepingTeamLeavesTheLaunchToOurThreads) {
  recordOnTeam(recordThreads, 4);
  std::set<uint64_t> members = team();
  for (int turn = 0; turn < 100 && OpenMp::find()->isAwake(); ++turn)
    rest(200'000'000);
  std::set<uint64_t> used = distinct(launchRecording());
  used.erase(self());
  ASSERT_FALSE(used.empty());
  for (uint64_t thread : used)
    EXPECT_FALSE(members.contains(thread));
}

TEST_F(OpenMpTest, ALargerTeamRunsALaunchOnAsManyThreadsAsItMayUse) {
  setTeam(8);
  EXPECT_EQ(distinct(recordOnTeam(recordThreads, 2)).size(), 2u);
}

TEST_F(OpenMpTest, ATeamOfOneLeavesTheLaunchToOurThreads) {
  setTeam(1);
  EXPECT_FALSE(OpenMp::find()->canRun(2));
  EXPECT_GT(distinct(launchRecording()).size(), 1u);
}

TEST_F(OpenMpTest, ALaunchWithinARegionRunsOnItsCaller) {
  auto launchAlone = [] {
    std::set<uint64_t> used = distinct(launchRecording(8));
    EXPECT_EQ(used, std::set<uint64_t>{self()});
  };
  parallel([](void *data) { (*static_cast<decltype(launchAlone) *>(data))(); }, &launchAlone, 4, 0);
}

TEST_F(OpenMpTest, LaunchesOfSeveralThreadsAreAllDone) {
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([] {
      for (int turn = 0; turn < 10; ++turn) {
        Ids ids = launchRecording(8);
        EXPECT_EQ(std::ranges::count(ids, uint64_t(0)), 0);
      }
    });
  for (std::thread &caller : callers)
    caller.join();
}

TEST_F(OpenMpTest, AForkedChildRunsOnThreadsOfItsOwn) {
  recordOnTeam(recordThreads, 4); // the team exists, in the parent only
  pid_t child = fork();
  if (child == 0) {
    alarm(60); // a child that waits for threads of the parent ends by a signal
    _exit(distinct(launchRecording()).size() > 1 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

#if defined(__x86_64__)
void recordFloatState(const uint64_t *arguments, const int64_t *, int64_t first, int64_t last, void *) {
  for (int64_t program = first; program < last; ++program) {
    rest(1'000'000);
    reinterpret_cast<uint64_t *>(arguments[0])[program] =
        _mm_getcsr() & ~0x3fu; // without the flags of what happened
  }
}

TEST_F(OpenMpTest, TheTeamsFloatStateIsPutBack) {
  auto flush = [] { _mm_setcsr(0x9fc0); }; // subnormals are zero
  parallel([](void *data) { (*static_cast<decltype(flush) *>(data))(); }, &flush, 4, 0);
  std::set<uint64_t> states = distinct(recordOnTeam(recordFloatState, 4));
  states.erase(0x9fc0); // the caller's, which `launch` sets and this call does not
  EXPECT_EQ(states, std::set<uint64_t>{0x1f80});
  std::atomic<int> kept{0};
  auto check = [&] {
    kept += (_mm_getcsr() & 0xffc0) == 0x9fc0;
    _mm_setcsr(0x1f80);
  };
  parallel([](void *data) { (*static_cast<decltype(check) *>(data))(); }, &check, 4, 0);
  EXPECT_EQ(kept, 4);
}
#endif

} // namespace
