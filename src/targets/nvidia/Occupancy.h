// Programs run beside each other on a multiprocessor as long as its registers last.
#pragma once
#include "targets/nvidia/Architecture.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tegula::nvidia {

// A program takes this of its multiprocessor.
struct Footprint {
  unsigned warps;
  int registers;        // of a thread
  uint64_t sharedBytes; // of both kinds
};

// To how many registers a thread of a kernel with products has to be bound for one more program to fit.
// nullopt: shared memory keeps it out, too, too many registers would have to go (ir/simt/Costs.def), or so
// many programs run that one more brings little.
std::optional<int> registersForOneMore(const Footprint &footprint, const Architecture &architecture);

// To how many registers a thread of a kernel with products can be bound, where the assembler kept it to fewer
// for the sake of programs that shared memory has no room for. nullopt: it did not, or so many warps run that
// they hide what each of them waits for.
std::optional<int> registersLeft(const Footprint &footprint, const Architecture &architecture);

// The most registers that a thread of a program of so many warps can have.
int mostRegisters(unsigned warps);

// A PTX module as LLVM writes it, whose kernel is bound to so many registers of a thread.
std::string withRegisterBound(std::string_view ptx, int registers);

} // namespace tegula::nvidia
