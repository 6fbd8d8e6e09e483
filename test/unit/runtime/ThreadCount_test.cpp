// TEGULA_NUM_THREADS is read once a process: each case is a process of its own.
#include "runtime/Launch.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace tegula;
using namespace tegula::runtime;

namespace {

void nothing(const uint64_t *, const int64_t *, int64_t, int64_t, void *) {}

// Exits with the thread count, or with 100 + the status of a launch.
[[noreturn]] void report(const char *value) {
  setenv("TEGULA_NUM_THREADS", value, 1);
  Status status = launch({nothing, 0}, {}, Grid{});
  std::fprintf(stderr, "%s", status.message.c_str());
  std::_Exit(status.ok() ? int(threadCount()) : 100 + int(status.code));
}

struct ThreadCountTest : testing::Test {
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(ThreadCountTest, ComesFromTheEnvironment) { EXPECT_EXIT(report("3"), testing::ExitedWithCode(3), ""); }

TEST_F(ThreadCountTest, BadValuesAreAnError) {
  for (const char *value : {"0", "-1", "two", "3x", "99999999999999999999"})
    EXPECT_EXIT(report(value), testing::ExitedWithCode(100 + int(StatusCode::Launch)), "TEGULA_NUM_THREADS");
}

} // namespace
