// Stores that go past the cache. A store reads its cache line before it writes it; a kernel
// whose output does not fit the cache pays for that read and keeps nothing. Whether an output
// is that large is known at run time only: the loop over whole vectors is emitted twice, and one bit chooses.
#pragma once
#include "targets/cpu/Guards.h"

namespace tegula::cpu {

struct Streaming {
  llvm::Value *condition = nullptr; // i1; nullptr: nothing here streams
  llvm::DenseSet<mlir::Operation *> stores;
};

// Emits the condition at the builder's place, where the nest's guards hold.
Streaming emitStreaming(ProgramEmitter &program, const analysis::Nest &nest, const NestAccesses &accesses);

// Makes streamed stores visible to other threads; at the end of the entry.
void fenceStreams(ProgramEmitter &program);

} // namespace tegula::cpu
