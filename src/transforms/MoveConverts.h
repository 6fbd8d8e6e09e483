// Conversions between layouts, moved to where they cost less: up to the loads that operands of matrix
// instructions come from, and down behind casts.
#pragma once
#include "mlir/IR/Operation.h"

namespace tegula::transforms {

// Between a load and the operand of a dot there may be casts, transpositions and arithmetic with scalars.
// Rewrites load, op, convert as load, convert, op: the load can then be copied to shared memory as it lies
// and read as the operand wants it. So are conversions to a layout in which a thread has fewer elements, up
// to what is no such arithmetic (sums of rows, say): it is done once, not by each thread that had a copy.
// Over transpositions only move a factor of multiply-adds, which many threads read, and one that only loops
// behind it read: it is computed once, and operandsInShared may leave it in shared memory. A conversion that
// no product reads stands at the load whose floats, or whole numbers of few bits, are widened for it, where
// that costs less.
void hoistConverts(mlir::Operation *function);

// Rewrites convert, op, narrowing cast as op, cast, convert: fewer bytes are moved. Of several tiles that are
// converted alike, and computed with, the result is converted: once; what is converted back is none.
void sinkConverts(mlir::Operation *function);

} // namespace tegula::transforms
