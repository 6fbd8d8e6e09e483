// Tiles that lie across the lanes of a nest: along another dimension their elements follow each other in
// memory. They are read in vectors along that one, as many as there are lanes, and the block is transposed in
// registers.
#pragma once
#include "targets/cpu/Guards.h"

namespace tegula::cpu {

struct Transposition {
  unsigned dim = 0; // the nest's, along which the tiles are contiguous
  llvm::SmallVector<NestRead, 2> tiles;
};

// Loads in `saved` are not read from their own memory. Both dimensions are whole vectors.
std::optional<Transposition> pickTransposition(ProgramEmitter &program, const analysis::Nest &nest,
                                               const NestAccesses &accesses,
                                               const llvm::DenseSet<mlir::Value> &saved);

// As many vectors as each has lanes, a power of two: element j of result i is element i of vector j.
llvm::SmallVector<llvm::Value *, 16> transpose(llvm::IRBuilder<> &builder,
                                               llvm::ArrayRef<llvm::Value *> rows);

// A power of two of vectors: their first elements, their second ones, and so on, in as many vectors.
llvm::SmallVector<llvm::Value *, 8> interleave(llvm::IRBuilder<> &builder,
                                               llvm::ArrayRef<llvm::Value *> vectors);

} // namespace tegula::cpu
