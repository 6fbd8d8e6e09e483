// A tile out of shared memory, for ops that read buffers on their own.
#pragma once
#include "codegen/simt/Emitter.h"
#include "layout/SharedMap.h"

namespace tegula::simt {

// The registers of a tile of `element`s with this layout that lies at `address` by `map`.
Registers loadTile(Emitter &e, llvm::Value *address, const layout::Layout &layout,
                   const layout::SharedMap &map, mlir::Type element);

} // namespace tegula::simt
