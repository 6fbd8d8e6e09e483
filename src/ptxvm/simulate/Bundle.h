// A run as a folder: the PTX, the launch, the buffers' bytes from before the run, the findings.
// Whoever has the folder can repeat the run, with the same schedule, elsewhere.
//
//   kernel.ptx, launch.txt, buffer-N.bin, findings.txt
//
// launch.txt has one statement a line: `entry NAME`, `grid X Y Z`, `block X Y Z`, `shared BYTES`,
// `schedule NAME SEED`, `copies NAME`, `steps N`, `parameter VALUE` or `parameter buffer N OFFSET`, and,
// with its address modulo 256 as PLACE, `buffer BYTES PLACE writable|read-only written|unwritten NAME`.
#pragma once
#include "ptxvm/simulate/Simulation.h"

namespace tegula::ptxvm {

struct Bundle {
  std::string ptx, name, entry;
  LaunchShape shape;
  Schedule schedule;
  Copies copies = Copies::Late;
  uint64_t stepLimit = 0;
  std::vector<std::vector<uint64_t>> memory; // of the buffers
  std::vector<Buffer> buffers;               // of `memory`
};

// The buffers' bytes as they are now; the findings come later.
Bundle record(const Module &module, std::string_view entry, const LaunchShape &shape,
              std::span<const Buffer> buffers, const SimulationOptions &options);
// Data: there is something in the folder that no bundle has, and which therefore stays. An older bundle is
// replaced.
Status checkFolder(const std::string &folder);
Status write(const Bundle &bundle, const std::string &findings, const std::string &folder);
Result<Bundle> readBundle(const std::string &folder);

} // namespace tegula::ptxvm
