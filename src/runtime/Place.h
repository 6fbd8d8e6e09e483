// Names the place of a launch, describes a device, and counts what a compiled kernel takes of one: in words
// that hold for any vendor.
#pragma once
#include <cstdint>
#include <string>

namespace tegula::runtime {

// A device of a target and an order of work on it. Targets without devices take the default only.
struct Place {
  int device = -1;        // -1: the one that is current on this thread, else the first
  void *stream = nullptr; // the driver's handle; null is its default stream
};

struct DeviceInfo {
  std::string name;
  std::string arch; // as a target's name: "sm_90a"
  int major = 0, minor = 0;
  int multiprocessors = 0, warpSize = 0;
  int maxThreadsPerBlock = 0;
  int64_t maxSharedBytes = 0; // of one block, when it asks for all it may have
  int64_t maxRegisters = 0;   // 32-bit registers of one block
  int64_t memoryBytes = 0, cacheBytes = 0;
  int clockKilohertz = 0, memoryClockKilohertz = 0, memoryBusBits = 0;
};

// -1: not known, or nothing of the kind.
struct KernelAttributes {
  int warps = -1;           // of a block
  int registers = -1;       // of a thread
  int spillBytes = -1;      // of a thread: what did not fit into registers, or is an array
  int64_t sharedBytes = -1; // of a block
};

} // namespace tegula::runtime
