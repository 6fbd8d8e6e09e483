// The public door: run an entry of a parsed module on the CPU, warp by warp, and say what was wrong.
//
// In: a module, the name of an entry, a launch. Out: a Report; memory of the buffers is changed in
// place. Global addresses are the host's own addresses, so a kernel's pointers are host pointers,
// and every access is checked against the buffer list before it touches memory: a wrong program
// cannot harm the process. The same launch with the same seed and one thread gives the same run.
#pragma once
#include "ptxvm/Events.h"
#include "ptxvm/Findings.h"
#include "ptxvm/Ptx.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tegula::ptxvm {

// Host memory that the kernel may touch.
struct Buffer {
  void *base = nullptr;
  uint64_t size = 0;
  bool writable = true;
  bool initialised = true; // false: reading before writing is a finding
  std::string name;        // for messages: "argument 0"
};

// The host writes these bytes into the beginning of a module's .const variable ahead of the launch.
struct Constants {
  std::string variable;
  std::vector<std::byte> bytes;
};

struct Schedule {
  enum class Kind : uint8_t {
    RoundRobin, // each warp a number of instructions in turn
    Random,     // a random warp for a random number of instructions
    Priority,   // the first runnable warp of a random order, which changes a few times (PCT)
    Apart,      // as Random, and lanes that parted stay apart until an instruction brings them together
  };
  Kind kind = Kind::RoundRobin;
  uint64_t seed = 0;
};

// When asynchronous copies and products (wgmma) complete: an adversary within what PTX allows.
enum class Copies : uint8_t {
  Late,   // when they are waited for: until then the destination holds poison, and then the source is read;
          // the results of a product are poison until its warp has waited
  AtOnce, // when they are issued
  Random, // somewhere between, lanes apart
};

// The state of a run, for whoever waits for it.
struct Progress {
  std::atomic<uint64_t> steps{0}, done{0}, blocks{0}; // instructions of warps; blocks that are done, and all
};

struct Launch {
  std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  uint64_t sharedBytes = 0; // dynamic
  // One 8-byte slot a parameter; a parameter takes its bytes from the low end (little-endian). A
  // parameter of more than 8 bytes takes the following slots too.
  std::vector<uint64_t> parameters;
  std::span<const Buffer> buffers;
  Schedule schedule;
  Copies copies = Copies::Late;
  unsigned threads = 1;              // host threads that run blocks; 0: as many as there are cores
  uint64_t stepLimit = 0;            // warp instructions of one block; 0: 1,000,000,000
  std::vector<Observer *> observers; // owned by the caller
  Progress *progress = nullptr;      // null: nobody asks
  std::span<const Constants> constants = {};
};

struct Report {
  Status status; // not ok: the launch was refused and nothing ran
  std::vector<Finding> findings;
  std::string printed; // what vprintf wrote, block after block
  // By instruction of the kernel: warps that executed it, and lanes in all.
  std::vector<uint64_t> executions, lanes;
  uint64_t warpInstructions = 0;
  const PtxKernel *kernel = nullptr;

  bool ok() const { return status.ok() && findings.empty(); }
};

Report run(const Module &module, std::string_view entry, const Launch &launch);

} // namespace tegula::ptxvm
