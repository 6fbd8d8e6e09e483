// Inline assembly in a program that a host runs: interp gives it no meaning, for the text is a machine's.
// Here ptxvm, that machine on the cores, runs it on a run of elements after another.
#pragma once
#include "base/Status.h"
#include "interp/Interpreter.h"
#include "ir/tile/Tile.h"

namespace tegula::eager {

// Defines the results of `op`, whose operands `machine` has. Launch: what ptxvm found; Type or Unsupported:
// what it does not read.
Status runInlineAssembly(tile::ElementwiseInlineAsmOp op, interp::Interpreter &machine);

} // namespace tegula::eager
