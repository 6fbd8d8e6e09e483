// The state of a running launch: run, worker (host thread), block, warp. Handlers of operations
// see the warp; everything they may touch hangs on it.
#pragma once
#include "ptxvm/exec/BulkUnderWay.h"
#include "ptxvm/exec/DecodedKernel.h"
#include "ptxvm/exec/PhaseBarrier.h"

#include <atomic>
#include <map>
#include <mutex>
#include <set>

namespace tegula::ptxvm {

struct Block;

// What all workers share.
struct Run {
  const DecodedKernel &program;
  const Launch &launch;
  Findings &findings;
  uint32_t blocks = 1, warpsPerBlock = 1, threadsPerBlock = 1;
  std::atomic<uint32_t> nextBlock{0};
  std::atomic<bool> stop{false}; // a trap or a failed assertion ends the launch
  std::mutex strongMutex{};      // see ordered
  std::mutex printMutex{};
  std::map<uint32_t, std::string> printed{}; // by block
};

struct Worker {
  Run &run;
  uint32_t index = 0;
  uint64_t clock = 0;                      // warp instructions so far
  std::vector<uint64_t> executions, lanes; // by operation
};

// Lanes of a warp that go together.
struct Group {
  enum class State : uint8_t { Ready, AtBarrier, AtSync, AtPhase };
  uint32_t pc = 0, mask = 0;
  uint32_t join = nowhere; // the pc where this group waits for its siblings
  int32_t meeting = -1;    // of Warp::meetings
  State state = State::Ready;
  uint32_t members = 0; // AtSync: the lanes awaited
  uint64_t barrier = 0; // AtPhase: where the mbarrier is
};

// A place where the lanes that parted at a branch come together.
struct Meeting {
  uint32_t pc = 0, expected = 0, arrived = 0;
  uint32_t join = nowhere;
  int32_t parent = -1;
  bool used = false;
  bool isSoft = false;
};

// One execution of cp.async by a warp, until all of its lanes have waited.
struct Copy {
  uint32_t instruction = 0;
  uint64_t number = 0;              // in its block
  uint32_t pending = 0, landed = 0; // lanes that have not waited; whose bytes have arrived
  uint32_t width = 0;
  std::array<uint64_t, warpSize> to{}, from{};
  std::array<uint32_t, warpSize> sizes{}, group{}; // of each lane
};

// A warp's part of one execution of wgmma.mma_async, until the warp has waited for its group.
struct Product {
  uint32_t instruction = 0;
  const ProductOp *op = nullptr;
  uint64_t number = 0; // in its block
  uint32_t group = 0;
  bool landed = false, scaleD = true;
  uint64_t aDescriptor = 0, bDescriptor = 0;
  std::vector<uint64_t> aPieces, bPieces; // of 16 bytes in shared memory; beyond it: zeros
  std::vector<uint32_t> aWords;           // of the registers: by register and lane
};

// What products under way have made of a register of their results.
struct Accumulator {
  std::array<uint32_t, warpSize> values{};
  uint32_t pending = 0; // products that have yet to add to it
};

// What a product is and what a warp of four executes, for those that must execute the same.
struct GroupStep {
  uint32_t instruction = 0;
  uint64_t aDescriptor = 0, bDescriptor = 0;
  bool scaleD = false;
  bool operator==(const GroupStep &) const = default;
};
struct WarpGroup {
  std::vector<GroupStep> steps; // in the order of the first warp that came
};

struct Warp {
  Block *block = nullptr;
  uint32_t index = 0;
  uint32_t exists = 0, live = 0; // lanes: of the block, and not exited
  std::vector<std::byte> file, local;
  std::vector<uint32_t> predicates;
  std::vector<Copy> copies;                         // oldest first
  std::array<uint32_t, warpSize> committed{};       // groups of copies, by lane
  std::array<uint32_t, warpSize> committedStores{}; // groups of bulk stores, by lane
  std::vector<Product> products;                    // oldest first
  uint32_t committedProducts = 0;                   // groups
  std::map<uint32_t, Accumulator> accumulators;     // by place, of products that are to add to them
  std::vector<bool> touched;                        // registers of products, since the last wgmma.fence
  std::vector<uint32_t> readers, writers;           // products under way, by their registers
  size_t groupSteps = 0;                            // executed, of WarpGroup::steps
  uint32_t carry = 0;                               // the condition code CC.CF, a bit a lane
  std::vector<Group> groups;
  std::vector<Meeting> meetings;
  size_t nextGroup = 0;

  template <class L> L *lanes(uint32_t place) { return reinterpret_cast<L *>(file.data() + place); }
  bool isReady() const {
    for (const Group &group : groups)
      if (group.state == Group::State::Ready)
        return true;
    return false;
  }
};

struct Barrier {
  std::vector<uint32_t> arrived, waiters; // lane masks by warp
  uint32_t threads = 0;                   // 0: all of the block's
  uint32_t instruction = 0;
  uint32_t popc = 0;
  bool isBusy = false, all = true, any = false;
};

struct Block {
  Worker *worker = nullptr;
  uint32_t linear = 0;
  std::array<uint32_t, 3> id{};
  std::vector<std::byte> shared;
  std::vector<Warp> warps;
  std::array<Barrier, 16> barriers;
  uint64_t steps = 0, random = 0;
  uint64_t nextCopy = 0, copyRandom = 0, nextProduct = 0, nextBulk = 0, nextStore = 0;
  std::map<uint64_t, PhaseBarrier> phaseBarriers; // by offset in shared memory, those that live
  std::set<const std::byte *> fencedMaps; // tensor maps that fence.proxy.tensormap named since they changed
  std::vector<BulkCopy> bulkCopies;       // under way, oldest first
  std::vector<BulkStore> bulkStores;      // the same
  std::vector<WarpGroup> groups;          // of four warps
  std::vector<uint32_t> priorities;       // Schedule::Priority: warps, first is the first to run
  std::vector<uint64_t> changePoints;     // steps at which the running warp falls to the end
  size_t nextWarp = 0;
  uint32_t quantumLeft = 0;
  bool done = false;

  const DecodedKernel &program() const { return worker->run.program; }
  Findings &findings() const { return worker->run.findings; }
  const std::vector<Observer *> &observers() const { return worker->run.launch.observers; }
};

inline WarpId idOf(const Warp &warp) { return {warp.block->worker->index, warp.block->linear, warp.index}; }
inline Site siteOf(const Warp &warp, uint32_t instruction, uint32_t lane = 0) {
  return {instruction, warp.block->id, warp.index, lane};
}
inline unsigned firstLane(uint32_t mask) { return unsigned(std::countr_zero(mask)); }

// Calls f(lane) for the lanes of a mask; a full warp is a plain loop, which compilers vectorise.
template <class F> inline void forLanes(uint32_t mask, F f) {
  if (mask == allLanes) {
    for (unsigned i = 0; i < warpSize; ++i)
      f(i);
    return;
  }
  for (; mask; mask &= mask - 1)
    f(unsigned(std::countr_zero(mask)));
}

// How a value of T sits in a lane.
template <class T> using Lane = std::conditional_t<sizeof(T) <= 4, uint32_t, uint64_t>;
template <class T> inline Lane<T> toLane(T value) { return Lane<T>(std::make_unsigned_t<T>(value)); }

inline uint64_t readLane(Warp &warp, uint32_t place, bool is64, unsigned lane) {
  return is64 ? warp.lanes<uint64_t>(place)[lane] : warp.lanes<uint32_t>(place)[lane];
}
inline void writeLane(Warp &warp, uint32_t place, bool is64, unsigned lane, uint64_t value) {
  if (is64)
    warp.lanes<uint64_t>(place)[lane] = value;
  else
    warp.lanes<uint32_t>(place)[lane] = uint32_t(value);
}

// ---- exec/Memory.cpp ----
// Finds the bytes of each lane, reports and takes out lanes that may not access, tells observers.
// `bytes` and `addresses` have 32 entries. Returns the lanes that may go on.
uint32_t resolve(Warp &warp, const Op &op, const AccessForm &access, uint32_t mask, const std::byte *data,
                 std::byte **bytes);
// An access that orders others and what observers hear of it are one step: else another worker's release
// comes between, and an acquire reads its value without having heard of it. Hold this around both.
std::unique_lock<std::mutex> ordered(Warp &warp, const AccessForm &access);
// A range of the host's memory that holds [address, address + size), or null.
const Range *findRange(const DecodedKernel &program, uint64_t address, uint64_t size);

// ---- exec/AsyncCopy.cpp ----
// Copies::Random: some bytes of some copies arrive.
void landSome(Block &block);
// Lanes end with copies under way.
void abandonCopies(Warp &warp, uint32_t mask);
// ---- exec/PhaseBarriers.cpp ----
// The phase of the mbarrier at an offset ends, if all has come.
void completePhase(Block &block, uint64_t offset);
// Copies behind this see the mbarriers that these lanes have initialised.
void fencePhases(Warp &warp, uint32_t mask);
// Of a try_wait that was executed: may its lanes go on?
bool isWaitOver(Warp &warp, const Op &op, uint32_t mask);
std::string phaseText(const Block &block, uint64_t offset); // who waits there for what
// ---- exec/BulkCopies.cpp ----
// The bytes of some copies arrive, the oldest first; false: none was under way.
bool landBulk(Block &block, size_t most);
void landSomeBulk(Block &block); // Copies::Random
void abandonBulk(Block &block);  // the block has ended
// ---- exec/BulkStores.cpp ----
void landSomeStores(Block &block); // Copies::Random
// The block ends; `isOver`: since all of its lanes have.
void abandonStores(Block &block, bool isOver);
// ---- exec/Products.cpp ----
void landSomeProducts(Block &block); // Copies::Random
void beginProducts(Warp &warp);
// All lanes of a warp have ended.
void abandonProducts(Warp &warp);
// An operation other than wgmma is about to touch registers of products.
void touchProductRegisters(Warp &warp, const Op &op);
uint64_t nextRandom(uint64_t &state); // exec/Block.cpp

// ---- exec/Block.cpp, exec/Groups.cpp ----
void begin(Block &block, Worker &worker, uint32_t linear);
// Runs until the block is done or about `budget` warp instructions went by.
void advance(Block &block, uint64_t budget);
// Runs a group of a warp until it waits, ends, or the quantum is used.
void runGroup(Warp &warp, size_t group, uint64_t &quantum);
// Lets lanes go on that wait at a soft join; false when there are none.
bool releaseSoft(Warp &warp);
// ---- exec/Barriers.cpp ----
std::string lanesText(uint32_t mask);                          // "0-3,8"
void arriveAtBarrier(Warp &warp, const Op &op, uint32_t mask); // its group is AtBarrier already, or goes on
// Lets go those whose barrier is complete; called when lanes arrive or exit.
void releaseBarriers(Block &block);
// Nobody can go on: says who waits where.
void reportDeadlock(Block &block);

} // namespace tegula::ptxvm
