// What kernels tell their launch: the first failure ends it, on whatever thread; prints go to stderr whole.
#include "runtime/Launch.h"
#include "runtime/Report.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <vector>

using namespace tegula;
using namespace tegula::runtime;

namespace {

std::atomic<int> entered{0};

void work(int64_t first, int64_t last) {
  auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(100 * (last - first));
  while (std::chrono::steady_clock::now() < end) {
  }
}

void failAt700(const uint64_t *, const int64_t *, int64_t first, int64_t last, void *) {
  entered += int(last - first);
  work(first, last);
  if (first <= 700 && 700 < last)
    tegula_assertion_failed("k.py:3:5: assertion failed: seven hundred");
}

void failAlways(const uint64_t *, const int64_t *, int64_t, int64_t, void *) {
  tegula_assertion_failed("inner");
}

// A program that launches has its own report.
void launchWithin(const uint64_t *arguments, const int64_t *, int64_t, int64_t, void *) {
  Status inner = launch({failAlways, 0}, {}, Grid{{1, 1, 1}});
  *reinterpret_cast<int *>(arguments[0]) = int(inner.code);
}

struct ReportTest : testing::Test {
  ~ReportTest() override { setThreadCount(2); }
};

TEST_F(ReportTest, AFailureOnAnyThreadIsTheLaunchs) {
  for (unsigned threads : {1u, 2u, 4u}) {
    setThreadCount(threads);
    Status status = launch({failAt700, 0}, {}, Grid{{1000, 1, 1}});
    EXPECT_EQ(status.code, StatusCode::Assertion);
    EXPECT_EQ(status.message, "k.py:3:5: assertion failed: seven hundred");
    EXPECT_TRUE(launch({failAt700, 0}, {}, Grid{{700, 1, 1}}).ok()) << "the next launch starts afresh";
  }
}

TEST_F(ReportTest, NestedLaunchesFailAlone) {
  int inner = 0;
  std::vector<uint64_t> arguments = {reinterpret_cast<uint64_t>(&inner)};
  EXPECT_TRUE(launch({launchWithin, 0}, arguments, Grid{{1, 1, 1}}).ok());
  EXPECT_EQ(inner, int(StatusCode::Assertion));
}

TEST_F(ReportTest, OutsideOfALaunchNothingHappens) { tegula_assertion_failed("nobody listens"); }

std::string printed(const char *prefix, bool hex, std::vector<int64_t> shapes, int64_t operands,
                    std::vector<uint64_t> values) {
  const int64_t program[3] = {1, 20, 3};
  testing::internal::CaptureStdout();
  tegula_print(prefix, hex, operands, shapes.data(), program, values.data());
  return testing::internal::GetCapturedStdout();
}

TEST(Print, OneLineAnElementWithItsCoordinates) {
  EXPECT_EQ(printed(": x = ", false, {int64_t(Printed::Signed), 32, 2, 1, 11}, 1,
                    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, uint64_t(-10)})
                .substr(0, 42),
            "pid (1, 20, 3) idx (0,  0): x = 0\npid (1, ");
  EXPECT_EQ(printed(" ", false, {int64_t(Printed::Float), 32, 0}, 1, {0x3ff8000000000000}),
            "pid (1, 20, 3) idx () 1.500000\n");
}

TEST(Print, HexadecimalAndPointersShowAllDigits) {
  EXPECT_EQ(printed(" ", true, {int64_t(Printed::Unsigned), 16, 0}, 1, {0xab}),
            "pid (1, 20, 3) idx () 0x00ab\n");
  EXPECT_EQ(printed(" ", false, {int64_t(Printed::Pointer), 64, 0}, 1, {0x10}),
            "pid (1, 20, 3) idx () 0x0000000000000010\n");
}

TEST(Print, SeveralOperandsAreNumbered) {
  EXPECT_EQ(printed(" ", false, {int64_t(Printed::Signed), 32, 0, int64_t(Printed::Unsigned), 8, 0}, 2,
                    {uint64_t(-1), 255}),
            "pid (1, 20, 3) idx () (operand 0) -1\npid (1, 20, 3) idx () (operand 1) 255\n");
  EXPECT_EQ(printed(": here", false, {}, 0, {}), "pid (1, 20, 3): here\n");
}

} // namespace
