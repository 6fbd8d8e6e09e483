// The buffers that the copies of a loop fill, slot by slot and around, as the loop leaves them: a loop behind
// it, or the next trip of a loop around it, may go on in them.
#pragma once
#include "ir/simt/Simt.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

namespace tegula::transforms {

// A slot, and the parity of its signals in the trip that is to come.
struct RingPlace {
  mlir::Value slot, parity;
};

struct Ring {
  mlir::scf::ForOp loop;
  llvm::SmallVector<mlir::Value> buffers;
  mlir::Value signals, emptied; // null: there are none
  RingPlace end;                // of the trip that would be the next one; nulls: there are no signals
  mlir::Value isUsed;           // this loop or one before it had a trip; i1
  unsigned aheadTrips;
  llvm::SmallVector<mlir::Operation *> endings; // behind the loop: nothing is under way any more, signals end
  // The first loop in these buffers, and the loop around it whose trips may start its first copies early;
  // null: none may. `begin` is made of constants of its own then, until such a loop hands on its trips' ends.
  mlir::scf::ForOp first, around;
  RingPlace begin;
  bool isWaitedFor; // each trip tells of its own slot, behind its wait
};

// Makes the op do nothing where the predicate is false, as far as others could see that; returns it.
mlir::Operation *runUnder(mlir::RewriterBase &rewriter, mlir::Operation *op, mlir::Value predicate);

} // namespace tegula::transforms
