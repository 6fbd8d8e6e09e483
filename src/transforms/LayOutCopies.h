// The layout of asynchronous copies: the places of their elements in shared memory, and the threads that copy
// them.
#pragma once
#include "ir/simt/Machine.h"
#include "ir/simt/Simt.h"
#include "layout/SharedMap.h"

#include <optional>

namespace tegula::transforms {

// A load that becomes a copy into a buffer.
struct CopiedLoad {
  tile::LoadOp load;
  layout::SharedMap map;
  unsigned width; // elements of one copy
  // In which threads copy it, where that is not the load's.
  std::optional<layout::Layout> layout;
};

// Lays out the copy of a load for the conversions that read it, or, where there are none, for what reads the
// load. Neighbouring lanes copy neighbouring accesses where the load's own would move short runs.
CopiedLoad layOutCopy(tile::LoadOp load, llvm::ArrayRef<simt::ConvertOp> converts,
                      const simt::Machine &machine);

// Are masked elements of the load 0, as a copy leaves them?
bool fillsWithZeros(tile::LoadOp load);

// Is a load copied for the sake of this conversion: through shared memory, or to the factor of a product by
// instructions of several warps?
bool wantsCopy(simt::ConvertOp convert);

// The conversions of a load that read its copy instead, if it gets one: those that want it, and behind them
// those in which lanes would exchange what they have read there.
llvm::SmallVector<simt::ConvertOp> convertsFromCopies(tile::LoadOp load);

// Is a tile in a buffer read by an instruction of several warps itself, if it lies there by `map`?
bool isReadTogether(mlir::Value tile, const layout::SharedMap &map, bool isTransposed = false);

} // namespace tegula::transforms
