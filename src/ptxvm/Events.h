// The stream of events of a run, one call a warp and event, for checks and counters. An observer
// sees each block's events in the block's order, from one thread at a time; different blocks
// come from different worker threads at once, so what an observer keeps is per block, per worker,
// or locked. Memory holds the state before the access when `memory` is called for a store or
// atomic, and for a load.
//
// Executions per instruction are counted by the machine itself (Report::executions): an observer
// is not called for instructions without effect on others.
#pragma once
#include "ptxvm/Findings.h"
#include "ptxvm/Ptx.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace tegula::ptxvm {

struct Launch;

enum class AccessKind : uint8_t { Load, Store, Atomic, Reduction /* atomic without result */, Prefetch };
enum class Semantics : uint8_t { Weak, Volatile, Relaxed, Acquire, Release, AcquireRelease, Sequential };
enum class Scope : uint8_t { None, Block, Cluster, Gpu, System };

// The warp that does something. `block` counts row-major with x fastest.
struct WarpId {
  uint32_t worker = 0; // the thread of the machine, below RunView::workers
  uint32_t block = 0;
  uint32_t warp = 0;
};

struct MemoryEvent {
  uint32_t instruction = 0;
  Space space = Space::Global; // never Generic: a generic access is resolved, one event a space
  AccessKind kind = AccessKind::Load;
  Semantics semantics = Semantics::Weak;
  Scope scope = Scope::None;
  bool nonCoherent = false; // ld.global.nc
  bool isCopy = false;      // one side of a cp.async, at its issue: see CopyEvent
  bool byWarp = false;      // lanes give the addresses, the warp accesses as one: ldmatrix, stmatrix
  bool isBulk = false;      // one side of a cp.async.bulk, at its issue: see BulkEvent
  bool isOperand = false;   // of wgmma, through the asynchronous proxy, at its issue: see ProductEvent
  uint32_t width = 0;       // bytes of one lane, the whole vector
  uint32_t mask = 0;        // the lanes that access
  const uint64_t *addresses =
      nullptr; // 32; host addresses in Global and Const, offsets in Shared, Local, Param
  // 32 * width bytes, lane after lane: what a store writes (a copy: as the source is now); null for others.
  const std::byte *data = nullptr;
  // 32 pointers to the bytes in the host's memory; valid for lanes in `mask`. Lanes that are out of
  // bounds were reported and taken out of the mask by the machine.
  std::byte *const *bytes = nullptr;
};

// A warp's cp.async: from its issue until its lanes have waited for it (cp.async.wait_group, wait_all)
// its bytes may arrive at any time, and its source may be read at any time.
struct CopyEvent {
  uint32_t instruction = 0;        // the cp.async
  uint64_t number = 0;             // of the copy in its block
  uint32_t mask = 0;               // issued: the lanes that copy; completed: those that have waited now
  uint32_t width = 0;              // bytes written by a lane
  const uint64_t *to = nullptr;    // 32 offsets in shared memory
  const uint64_t *from = nullptr;  // 32 addresses of the host
  const uint32_t *sizes = nullptr; // 32: bytes read; the rest of `width` becomes zeros
};

// A warp's part of a wgmma.mma_async: from its issue until the warp has waited for its group, the operands
// in shared memory may be read at any time.
struct ProductEvent {
  uint32_t instruction = 0;
  uint64_t number = 0;              // of the product in its block
  std::span<const uint64_t> pieces; // offsets in shared memory of the 16 bytes each that it reads
};

// An mbarrier, by its offset in shared memory.
struct PhaseEvent {
  uint32_t instruction = 0;
  uint64_t barrier = 0;
};

// A lane's cp.async.bulk: from its issue until the phase of its barrier is complete, its bytes may arrive at
// any time. It writes through the asynchronous proxy.
struct BulkPart {
  uint64_t to = 0, from = 0; // offset in shared memory, address of the host; 0: zeros
  uint32_t bytes = 0;
};
struct BulkEvent {
  uint32_t instruction = 0, lane = 0;
  uint64_t barrier = 0;
  std::span<const BulkPart> parts;
};

// A lane's cp.async.bulk from shared to global memory: its source may be read at any time until the lane has
// waited for that, its destination written at any time until the lane has waited for all of it, or its block
// has ended. It reads through the asynchronous proxy.
struct StorePart {
  uint64_t from = 0, to = 0; // offset in shared memory, address of the host
  uint32_t bytes = 0;
};
struct StoreEvent {
  uint32_t instruction = 0, lane = 0;
  uint64_t number = 0; // of the store in its block
  std::span<const StorePart> parts;
  bool reduces = false; // it updates what is there, element by element
};

// Barriers of a block. `threads` is the number awaited.
struct BarrierEvent {
  uint32_t instruction = 0;
  uint32_t id = 0;
  uint32_t threads = 0;
  uint32_t mask = 0;
  bool waits = true; // false: arrive
};

// Lanes of a warp that are ordered with each other: bar.warp.sync, and shfl, vote, match, redux
// (those exchange registers; PTX gives no memory ordering for them, only for bar.warp.sync).
struct WarpSyncEvent {
  uint32_t instruction = 0;
  uint32_t mask = 0;
  bool ordersMemory = false;
};

struct FenceEvent {
  uint32_t instruction = 0;
  uint32_t mask = 0;
  Semantics semantics = Semantics::AcquireRelease;
  Scope scope = Scope::Gpu;
};

struct BranchEvent {
  uint32_t instruction = 0;
  uint32_t taken = 0, fallen = 0; // masks; both non-empty means divergence
};

struct RunView {
  const PtxKernel &kernel;
  const Launch &launch;
  uint32_t workers = 1, blocks = 1, warpsPerBlock = 1, threadsPerBlock = 1;
  uint64_t sharedBytes = 0; // static and dynamic
  Findings &findings;
};

class Observer {
public:
  virtual ~Observer() = default;
  virtual void runBegins(const RunView &) {}
  virtual void runEnds() {}
  // `shared` stays where it is until the block ends.
  virtual void blockBegins(uint32_t worker, uint32_t block, std::span<std::byte> shared) {}
  virtual void blockEnds(uint32_t worker, uint32_t block) {}
  virtual void memory(const WarpId &, const MemoryEvent &) {}
  virtual void barrierArrives(const WarpId &, const BarrierEvent &) {}
  // All have come: the warps with a bit set in `waiters` go on, ordered after all who arrived since
  // the barrier's last completion.
  virtual void barrierCompletes(uint32_t worker, uint32_t block, uint32_t id,
                                std::span<const uint32_t> arrived, std::span<const uint32_t> waiters) {}
  virtual void warpSync(const WarpId &, const WarpSyncEvent &) {}
  virtual void fence(const WarpId &, const FenceEvent &) {}
  // fence.proxy.async: what the lanes wrote before, asynchronous reads behind it see.
  virtual void proxyFence(const WarpId &, uint32_t instruction, uint32_t mask) {}
  virtual void branch(const WarpId &, const BranchEvent &) {}
  // A lane initialises an mbarrier; one arrives; the phase ends; a warp has seen that the last phase so far
  // has.
  virtual void phaseBegins(const WarpId &, const PhaseEvent &) {}
  virtual void phaseArrives(const WarpId &, const PhaseEvent &) {}
  virtual void phaseCompletes(uint32_t worker, uint32_t block, uint64_t barrier) {}
  virtual void phaseWaited(const WarpId &, const PhaseEvent &) {}
  // `bulkCompletes` comes when its bytes count, before `phaseCompletes`; `who` is the warp that issued it.
  virtual void bulkIssued(const WarpId &, const BulkEvent &) {}
  virtual void bulkCompletes(const WarpId &, const BulkEvent &) {}
  // Behind the events of its two accesses; `copyCompletes` comes when lanes have waited for it, or end.
  virtual void copyIssued(const WarpId &, const CopyEvent &) {}
  virtual void copyCompletes(const WarpId &, const CopyEvent &, bool waited) {}
  // Behind the events of what it reads; `productCompletes` comes when the warp has waited for it.
  virtual void productIssued(const WarpId &, const ProductEvent &) {}
  virtual void productCompletes(const WarpId &, const ProductEvent &) {}
  // Behind the events of its accesses; its lane has waited until it was read; until it was done, or its block
  // has ended.
  virtual void storeIssued(const WarpId &, const StoreEvent &) {}
  virtual void storeRead(const WarpId &, const StoreEvent &) {}
  virtual void storeDone(const WarpId &, const StoreEvent &) {}
  virtual void lanesExit(const WarpId &, uint32_t mask) {}
};

} // namespace tegula::ptxvm
