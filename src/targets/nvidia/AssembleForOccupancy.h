// PTX -> cubin, with the number of registers of a thread with which the kernel runs best: the assembler is
// asked several times where only its answers tell.
#pragma once
#include "targets/nvidia/Architecture.h"
#include "targets/nvidia/Assembler.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>
#include <limits>
#include <string>

namespace tegula::nvidia {

// A kernel's launch, as far as registers depend on it.
struct LaunchShape {
  unsigned warps;
  uint64_t sharedBytes;                                // that the launch gives
  int mostRegisters = std::numeric_limits<int>::max(); // of a thread, that its user asked for
};

// Assembles a text, which has this bound for the registers of a thread. 0: it is as its kernel was given.
using AssembleText = llvm::function_ref<Result<Assembled>(const std::string &ptx, int bound)>;

// `ptx` becomes what was assembled; its time is that of all runs. It stays as it is if it has a bound of its
// own, or takes more registers than its user asked for.
Result<Assembled> assembleForOccupancy(std::string &ptx, const LaunchShape &launch,
                                       const Architecture &architecture, AssembleText assemble);

// In the assembler's log: products wait for each other.
bool serializes(const Assembled &assembled);

} // namespace tegula::nvidia
