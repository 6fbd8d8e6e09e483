// Copies of later trips, among the instructions of a product.
#pragma once
#include "llvm/IR/Function.h"

namespace tegula::nvidia {

// A trip of a loop of products of single warps reads its factors from shared memory, and starts copies for
// later trips, under a condition. Both take the same unit of a multiprocessor: a program of few warps waits
// for the copies before it can read. So they go behind the reads of the product's first step, each under the
// condition as a predicate, and start while that step computes. Copies for the next trip stay first: they
// are waited for. So do those of programs of many warps, of which others compute meanwhile, and so many that
// the reads of later steps would wait for them.
void moveCopiesBehindReads(llvm::Function &function);

} // namespace tegula::nvidia
