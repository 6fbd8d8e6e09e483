#include "targets/nvidia/Occupancy.h"

#include <algorithm>

namespace tegula::nvidia {
namespace {

// Source: CUDA C++ Programming Guide, "Compute Capabilities"; the same since sm_75, but for the last.
constexpr unsigned registerFile = 65536; // of a multiprocessor
constexpr unsigned registerGranule = 8;  // of a thread
constexpr unsigned registerNames = 255;
constexpr uint64_t systemBytes = 1024; // of shared memory, that each program takes besides its own

// Measured on an H200 (docs/performance/gpu.md, "One more program").
constexpr unsigned somePrograms = 4;
constexpr double leastKept = 0.78; // of the registers
// Of more programs each brings less.
constexpr unsigned mostPrograms = 8;
constexpr double leastKeptByMany = 0.88;

} // namespace

std::optional<int> registersForOneMore(const Footprint &footprint, const Architecture &architecture) {
  unsigned threads = 32 * footprint.warps;
  auto registers = unsigned(std::max(footprint.registers, 1));
  unsigned rounded = (registers + registerGranule - 1) / registerGranule * registerGranule;
  unsigned more = registerFile / (rounded * threads) + 1;
  unsigned bound = registerFile / (more * threads) / registerGranule * registerGranule;
  bool hasRoom = (architecture.sharedBytes + systemBytes) / (footprint.sharedBytes + systemBytes) >= more;
  double least = more > somePrograms ? leastKeptByMany : leastKept;
  if (!hasRoom || more > mostPrograms || bound < registers * least)
    return std::nullopt;
  return int(bound);
}

int mostRegisters(unsigned warps) {
  unsigned each = registerFile / (32 * std::max(warps, 1u));
  return int(std::min(registerNames, each / registerGranule * registerGranule));
}

std::string withRegisterBound(std::string_view ptx, int registers) {
  constexpr std::string_view threads = ".reqntid";
  size_t at = ptx.find(threads);
  if (at == ptx.npos)
    return std::string(ptx);
  std::string result(ptx);
  return result.insert(at, ".maxnreg " + std::to_string(registers) + "\n");
}

} // namespace tegula::nvidia
