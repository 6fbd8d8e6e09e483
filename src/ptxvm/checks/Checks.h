// The checks of a run: observers that look for what hardware does not tell. Out: findings in
// RunView::findings. What the machine needs for its own safety (bounds, alignment, rights, barriers)
// it reports itself.
#pragma once
#include "ptxvm/Events.h"

#include <memory>

namespace tegula::ptxvm {

struct RaceOptions {
  // Also between lanes of one warp that no bar.warp.sync or barrier orders.
  bool lanes = true;
};

// Two accesses, one of them a write, that nothing orders: barriers, bar.warp.sync, release and
// acquire, fences with atomics. Stores of the value that is there already are no findings.
std::unique_ptr<Observer> checkRaces(RaceOptions options = {});

// Accesses to what an asynchronous copy still writes or reads; lanes that end without waiting. What
// orders a copy for others once it was waited for is the race check's.
std::unique_ptr<Observer> checkAsyncCopies();

// Accesses to what a bulk store still reads or writes. Its proxy's fence is the check of product operands',
// and the order to those who come behind its lane's wait the race check's.
std::unique_ptr<Observer> checkBulkStores();

// Writes to shared memory that a product (wgmma) under way still reads; products of what was written without
// a fence.proxy.async of the writing thread before the barrier. That a barrier is there is the race check's.
std::unique_ptr<Observer> checkProductOperands();

// Reads of bytes of shared memory, or of buffers that begin uninitialised, that nobody has written.
std::unique_ptr<Observer> checkInitialised();

} // namespace tegula::ptxvm
