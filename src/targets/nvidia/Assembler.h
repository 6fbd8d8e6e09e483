// PTX -> cubin, in a child process that is kept for the next one (tools/worker). A tool that
// refuses, crashes or hangs is a status, and the PTX stays in a file that it names. Safe from
// several threads, which assemble side by side; a forked process starts workers of its own.
#pragma once
#include "base/Status.h"

#include <cstdint>
#include <optional>
#include <string>

namespace tegula::nvidia {

struct Assembled {
  std::string cubin;
  std::string log;         // what the tool said
  std::string tool;        // its path
  int registers = -1;      // of a thread; -1: the tool did not say
  int spillBytes = -1;     // stores and loads of spilled registers, the larger of both
  int stackBytes = -1;     // of a thread
  int64_t sharedBytes = 0; // static, of a block
  double milliseconds = 0;
};

// Starts a worker if none runs, and in it the assembler, so that both are ready when the PTX is.
void prepareToAssemble(const std::string &arch);

// `arch` is "sm_90a". Toolchain: what went wrong. Resource: the kernel needs more registers or
// shared memory than there is. Unsupported: there is no worker or no assembler. `refusal`, if it is given,
// gets what the tool has against this text, in words that hold later too; it stays as it is after other
// failures.
Result<Assembled> assemble(const std::string &ptx, const std::string &arch,
                           std::optional<Status> *refusal = nullptr);

// That of the assembler which a worker that is started now would use, as identityOfTool has it. nullopt: none
// is found in a folder, and only the system's loader knows whether there is the library.
std::optional<std::string> identityOfAssembler();

// A cubin as the vendor's disassembler prints it. Unsupported: there is none.
Result<std::string> disassemble(const std::string &cubin);

} // namespace tegula::nvidia
