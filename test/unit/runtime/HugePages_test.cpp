// Advice is seen as the flag `hg` of a mapping in /proc/self/smaps.
#include "runtime/HugePages.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include <sys/mman.h>

using namespace tegula::runtime;

namespace {

constexpr size_t size = size_t(8) << 20;

bool isAdvised(uint64_t address) {
  std::ifstream maps("/proc/self/smaps");
  bool isHere = false;
  for (std::string line; std::getline(maps, line);) {
    uint64_t begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2 && line.find(':') > line.find(' '))
      isHere = begin <= address && address < end;
    if (isHere && line.starts_with("VmFlags:"))
      return (line + " ").find(" hg ") != std::string::npos;
  }
  return false;
}

// Memory that is not there yet.
struct Mapping {
  Mapping()
      : bytes(static_cast<char *>(
            ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {}
  ~Mapping() { ::munmap(bytes, size); }
  Mapping(const Mapping &) = delete;
  uint64_t address() const { return reinterpret_cast<uint64_t>(bytes); }
  bool middleIsAdvised() const { return isAdvised(address() + size / 2); }

  char *bytes;
};

struct HugePagesTest : testing::Test {
  void SetUp() override {
    std::string mode;
    std::getline(std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled"), mode);
    if (mode.find("[madvise]") == std::string::npos)
      GTEST_SKIP() << "the system waits for no advice: " << mode;
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
};

TEST_F(HugePagesTest, AreAskedForWhereNothingIsThere) {
  Mapping memory;
  EXPECT_FALSE(memory.middleIsAdvised());
  tegula_expect_stores(memory.address(), size);
  EXPECT_TRUE(memory.middleIsAdvised());
}

TEST_F(HugePagesTest, AreNotAskedForWherePagesAre) {
  Mapping memory;
  std::memset(memory.bytes, 1, size);
  tegula_expect_stores(memory.address(), size);
  EXPECT_FALSE(memory.middleIsAdvised());
}

// Memory beside the range keeps its pages: only huge pages that lie within it are asked for.
TEST_F(HugePagesTest, StayWithinTheRange) {
  Mapping memory;
  uint64_t huge = uint64_t(2) << 20, middle = (memory.address() + size / 2) & ~(huge - 1);
  tegula_expect_stores(middle - huge + 4096, int64_t(2 * huge));
  EXPECT_FALSE(isAdvised(middle - 4096));
  EXPECT_TRUE(isAdvised(middle));
  EXPECT_FALSE(isAdvised(middle + huge));
}

TEST_F(HugePagesTest, RangesThatAreNoMemoryDoNoHarm) {
  Mapping memory;
  tegula_expect_stores(memory.address(), 0);
  tegula_expect_stores(memory.address(), -1);
  tegula_expect_stores(memory.address(), 4096);
  tegula_expect_stores(memory.address() + size / 2, int64_t(1) << 46);
  tegula_expect_stores(0, int64_t(size));
  tegula_expect_stores(~uint64_t(0) - 4096, int64_t(size));
  tegula_expect_stores(uint64_t(1) << 63, INT64_MAX);
  EXPECT_FALSE(memory.middleIsAdvised());
}

TEST_F(HugePagesTest, CanBeTurnedOff) {
  auto run = [] {
    setenv("TEGULA_HUGE_PAGES", "0", 1);
    Mapping memory;
    tegula_expect_stores(memory.address(), size);
    std::_Exit(memory.middleIsAdvised() ? 1 : 0);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

} // namespace
