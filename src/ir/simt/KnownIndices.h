// Bits of indices that are the same in all threads and known when compiling: those that constants, and the
// coordinates which a register stands for by itself, decide.
#pragma once
#include "ir/simt/Simt.h"

#include "llvm/Support/KnownBits.h"

namespace tegula::simt {

// Of the elements that this register of an integer tile holds.
llvm::KnownBits knownBits(mlir::Value tile, unsigned reg);

// The registers of the source, ascending, one of which holds in some lane what this register of a gather's
// result takes: those that agree with all that is known of the index and of the other coordinates.
llvm::SmallVector<unsigned> gatheredFrom(tile::GatherOp op, unsigned reg);

// The lanes that read their element of this register of a gather's result from one bank of shared memory,
// where the source lies row by row: they have the lowest bits of the index in common.
unsigned lanesOfABank(tile::GatherOp op, unsigned reg);

// Are so many lanes at one bank that the source is mixed: word w of a row of banks lies at w ^ the row's
// number?
bool mixesBanks(tile::GatherOp op);

} // namespace tegula::simt
