// Rows that the next trip of a loop reads. A sum over the rows of a narrow strip, or a product with one,
// reads a line or a few of each, and where rows are half a page apart the processor does not see what comes
// next: the rows of the next tile are asked for while those of this one are summed. Rows that lie closer need
// none of it, which is known at run time only: the loop over whole vectors is emitted twice, and one bit
// chooses.
#pragma once
#include "targets/cpu/Guards.h"

namespace tegula::cpu {

struct Prefetch {
  llvm::Value *condition = nullptr;                      // i1; nullptr: nothing here is asked for ahead
  llvm::DenseMap<mlir::Operation *, llvm::Value *> ways; // of a load, in bytes, i64
};

// Emits the condition at the builder's place, where the nest's guards hold.
// Tiles are contiguous along the dimension `contiguous`.
Prefetch emitPrefetch(ProgramEmitter &program, const analysis::Nest &nest, const NestAccesses &accesses,
                      unsigned contiguous);

} // namespace tegula::cpu
