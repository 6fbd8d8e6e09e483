// Programs run beside each other on a multiprocessor as long as its registers last.
#pragma once
#include "targets/nvidia/Architecture.h"

#include "llvm/ADT/SmallVector.h"

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

// Bounds for the registers of a thread, to be tried one after the other.
struct RegisterBounds {
  llvm::SmallVector<int, 2> registers;
  int mostSpilled = 0; // bytes of a thread; code that spills more under a bound is worse than without it
};

// Of a kernel with products: the bound with which one more program fits, which pays for a register or two
// that are spilled. None where shared memory keeps it out, too, too many registers would have to go
// (ir/simt/Costs.def), or so many programs run that one more brings little.
RegisterBounds registersForOneMore(const Footprint &footprint, const Architecture &architecture);

// Of a kernel with products: the bound that shared memory leaves, where the assembler kept the kernel to
// fewer registers for the sake of programs that it has no room for. None where it did not, or so many warps
// run that they hide what each of them waits for.
RegisterBounds registersLeft(const Footprint &footprint, const Architecture &architecture);

// Of a kernel with products whose tiles come through registers: the bound with which as many programs run as
// without one. The assembler takes fewer by letting loads of a tile wait for one another, each until the one
// before has been used. None where it takes as many, or so many warps run that they hide what each waits for.
RegisterBounds registersForLoads(const Footprint &footprint, const Architecture &architecture);

// Of a kernel whose many warps wait for one another, for its sums, say: the bound with which the most
// programs fit, up to four, and that for one fewer. None where four fit, or too many registers would have to
// go.
RegisterBounds registersForWaitingWarps(const Footprint &footprint, const Architecture &architecture);

// Of a kernel whose warps wait for memory only, and fill a multiprocessor's registers with one program: the
// bound with which a second one fits. None where too many registers would have to go.
RegisterBounds registersForSecondProgram(const Footprint &footprint, const Architecture &architecture);

// Of a kernel without products that loads so many registers of a thread one behind the other, with nothing in
// between that waits (`inLoops`: it has loops): the bound with which as many warps run as hide what each
// waits for. With fewer registers more warps run, and the assembler lets each load wait until the one before
// has been used. None where its loads find room, or no more warps run; but programs of few warps then have
// the bound of half as many.
RegisterBounds registersForTurns(const Footprint &footprint, unsigned loaded, bool inLoops,
                                 const Architecture &architecture);

// Of a kernel of few warps whose trips compute beside their products: the bound of all registers that a
// thread can name, or with which three programs of more than two warps run. None where it takes them.
RegisterBounds registersForChains(const Footprint &footprint, const Architecture &architecture);

// The bound of registersForChains for a kernel that takes fewer, where registersLeft has no other one for it,
// however many it takes. It is known before the assembler has answered.
RegisterBounds chainsAtOnce(unsigned warps, uint64_t sharedBytes, const Architecture &architecture);

// Of a kernel of few warps without products: a bound of registersForTurns, and the registers up to which what
// is assembled with it is what any of them gives, or none. It is known before the assembler has answered.
struct EarlyBound {
  int registers, taken;
};
std::optional<EarlyBound> turnsAtOnce(unsigned warps, uint64_t sharedBytes, unsigned loaded, bool inLoops,
                                      const Architecture &architecture);

// Are so many registers all that this bound gives? They come in granules.
bool takesAll(int registers, int bound);

// The most registers that a thread of a program of so many warps can have.
int mostRegisters(unsigned warps);

// A PTX module as LLVM writes it, whose kernel is bound to so many registers of a thread, and to no number of
// programs any more.
std::string withRegisterBound(std::string_view ptx, int registers);

} // namespace tegula::nvidia
