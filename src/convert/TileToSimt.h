// Tile IR -> simt: every tile gets a layout, the ops stay. In: a kernel after canonicalization,
// tiles without encodings. Out: the same kernel, each tile's type with a `#simt.layout`, and
// `simt.convert` where two ops want different ones.
//
// How layouts are chosen. Values that ops of one shape tie together (arithmetic, loops, loads and stores with
// their addresses and masks) form a class and share a layout. A class with memory accesses takes the layout
// that coalesces the heaviest of them (where neighbours share addresses, one in which a thread owns those
// that do). Elements of several sizes want runs of several lengths: the cheapest run is taken. Wide elements
// are loaded as they lie, a run in several accesses, since the cache keeps what the first one leaves of a
// sector; their stores and atomic steps convert, unless the run is as short as theirs. What moves elements
// one by one at a small stride converts to a layout with neighbours in neighbouring lanes: stores and atomic
// steps where a sector of memory would be written in parts, loads outside of loops where each would ask for
// many lines. A class without accesses takes what its producers give (the slice that a reduction leaves, a
// transposition) or its readers want, also where those have its elements at other coordinates (a reshape). So
// does one that is smaller than the threads, or only loaded and either a line or read at other coordinates:
// threads then repeat loads instead of exchanging, in a loop also where that scatters them a little, as long
// as it costs less than the exchange. One that is only gathered takes the layout of a tile with other
// dimensions of extent 1 that it is combined with. Where a dot writes a class and the machine has a matrix
// instruction for it, the class has that instruction's layout, whatever loads or stores it: those convert.
// Cheap functions of coordinates (ranges, addresses, masks) belong to no class: they are computed again in
// whatever layout is wanted.
#pragma once
#include "diag/Remark.h"
#include "ir/simt/Machine.h"

#include "mlir/IR/BuiltinOps.h"

#include <vector>

namespace tegula::convert {

struct SimtOptions {
  unsigned warps = 4;
  unsigned stages = 1; // of loops that load ahead
  const simt::Machine &machine;
};

// Factors of 8 bits for which the machine has no instruction become f16, which holds each of their values.
void widenFactors(mlir::ModuleOp module, const simt::Machine &machine);

// Products of f32 with the precision `bf16x3` or `bf16x6` become three or six products of bf16, where the
// machine has an instruction for those: of each factor's first eight bits, and of the rest (numerical
// contract, N15).
void splitFactors(mlir::ModuleOp module, const simt::Machine &machine);

void tileToSimt(mlir::ModuleOp module, const SimtOptions &options, std::vector<diag::Remark> &remarks);

} // namespace tegula::convert
