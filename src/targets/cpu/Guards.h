// The conditions under which a nest's fast variant means what the program says, as run-time bits:
//   holds  forms hold in ℤ only where 32-bit (or narrower) arithmetic did not wrap; and two stores do not
//          meet. Else a variant in scalars runs.
//   apart  a load that shares a nest with a later store must not see what it writes: the two
//          ranges are disjoint, or both walk the same addresses in the same order, or they are
//          columns of one array side by side. Else the tile is read whole first.
// What can be decided here costs nothing at run time.
#pragma once
#include "targets/cpu/Evaluator.h"

namespace tegula::cpu {

// A memory access of a nest, in the nest's coordinates.
struct NestAccess {
  mlir::Operation *op;
  mlir::Value pointers, mask;
  llvm::SmallVector<int8_t, 4> map; // the access's dimension -> the nest's, -1: constant 0
};

// Bytes of what a pointer, or each of a tile of pointers, points to.
int64_t elementBytes(mlir::Value pointers);

// A tile that a nest reads, at coordinates of the nest.
struct NestRead {
  mlir::Value tile;
  llvm::SmallVector<int8_t, 4> map; // as in NestAccess
};

// Loads that the nest's roots evaluate inline, its stores and the buffers that it reads, in program order of
// discovery.
struct NestAccesses {
  llvm::SmallVector<NestAccess, 4> loads, stores;
  llvm::SmallVector<NestRead, 4> reads;
};
// Tiles whose buffers the nest itself fills: ahead of it they must be computed.
llvm::DenseSet<mlir::Value> filledBy(const analysis::Nest &nest);
NestAccesses accessesOf(const analysis::Nest &nest, const analysis::NestPlan &plan);

struct Guards {
  llvm::Value *holds = nullptr, *apart = nullptr; // i1; nullptr: always true
  // Where they are not apart the fast variant can read the saved tiles: they lie as the memory does.
  bool canRedirect = true;
  // Loads of single elements: their tiles are saved before the nest's stores in either variant, since that
  // costs less than to compare each address. `usesForms`: in the fast variant the save may, the guards hold
  // for it.
  struct Saved {
    mlir::Operation *load;
    bool usesForms;
  };
  llvm::SmallVector<Saved, 2> alwaysSaved;
  // Loads that the other variants save.
  llvm::SmallVector<mlir::Operation *, 4> maySee;
};

// Emits the conditions at the builder's place.
Guards emitGuards(ProgramEmitter &program, const analysis::Nest &nest, const NestAccesses &accesses,
                  const std::optional<Bound> &bound);

} // namespace tegula::cpu
