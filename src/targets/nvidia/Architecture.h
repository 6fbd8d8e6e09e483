// "sm_90a" -> what is known of the architecture.
#pragma once
#include "base/Status.h"

#include <string>

namespace tegula::nvidia {

struct Architecture {
  std::string name;     // "sm_90a"
  unsigned capability;  // 90
  unsigned ptxVersion;  // 83 for PTX ISA 8.3
  uint64_t sharedBytes; // of a program
  unsigned threads;     // of a multiprocessor
  std::string features() const { return "+ptx" + std::to_string(ptxVersion); }
};

// Unsupported, with the list, for a name that is none.
Result<Architecture> findArchitecture(const std::string &name);

// The most neighbours, a power of two, that one atomic addition to global memory takes, by their type.
enum class Added { F16, BF16, F32, Other };
unsigned atomicAddWidth(unsigned capability, Added type);

} // namespace tegula::nvidia
