#include "runtime/HugePages.h"
#include "base/Environment.h"

#include <bit>
#include <fstream>
#include <initializer_list>
#include <string>
#include <string_view>

#include <sys/mman.h>
#include <unistd.h>

namespace tegula::runtime {

namespace {

// Admin's guide of Linux, "Transparent Hugepage Support": the mode in force stands in brackets.
uint64_t advisedPageBytes() {
  if (!isOn(Variable::HugePages))
    return 0;
  std::string mode;
  std::getline(std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled"), mode);
  if (mode.find("[madvise]") == std::string::npos)
    return 0;
  uint64_t bytes = 0;
  std::ifstream("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size") >> bytes;
  return std::has_single_bit(bytes) ? bytes : 0;
}

// Is the page of this process's memory, and not there yet? What is no memory is not.
bool isAbsent(uint64_t address, uint64_t page) {
  unsigned char state = 1;
  return ::mincore(reinterpret_cast<void *>(address & ~(page - 1)), 1, &state) == 0 && !(state & 1);
}

} // namespace

extern "C" void tegula_expect_stores(uint64_t address, int64_t bytes) {
  static const uint64_t huge = advisedPageBytes();
  static const auto page = uint64_t(::sysconf(_SC_PAGESIZE));
  uint64_t end = address + uint64_t(bytes);
  if (huge == 0 || bytes <= 0 || end < address)
    return;
  uint64_t first = (address + huge - 1) & ~(huge - 1), last = end & ~(huge - 1);
  if (first < address || first >= last)
    return;
  for (uint64_t sample : {first, first + (last - first) / 2, last - page})
    if (!isAbsent(sample, page))
      return;
  ::madvise(reinterpret_cast<void *>(first), last - first, MADV_HUGEPAGE);
}

} // namespace tegula::runtime
