// Outputs that a launch fills from end to end. Memory that a process has only just got has no pages yet: the
// system makes each of them at its first store, and that takes longer than the kernel. Pages of 2 MiB take a
// third of it, and the runtime asks for those (runtime/HugePages.h) if it knows ahead of the stores where
// they will be.
#pragma once
#include "ir/tile/Tile.h"
#include "targets/cpu/ProgramEmitter.h"

namespace tegula::cpu {

// Emits code that tells the runtime, once a launch, the range that each store of `kernel` will fill, where
// that is large and at least half of it is written. At the builder's place arguments and the grid are known,
// the ids of programs are not.
void emitFreshOutputs(ProgramEmitter &program, tile::FuncOp kernel);

} // namespace tegula::cpu
