// Plans how a tile gets from one layout into another. The way is chosen by cost from one table, once; from
// the choice and the two layouts the plan follows without a search, and code generation follows the plan.
// Registers are numbered by all their bits as in Layout; a value that a plan names by -1 or that nothing
// defined (a dead register) is poison, and nobody who matters reads it.
//
// planConversion assumes equal extents, the same number of lanes and warps, equal block bases, and that
// `from` holds every element that `to` asks for (a surjective `from` does). It never fails: Shared always
// works.
#pragma once
#include "layout/SharedMap.h"

namespace tegula::layout {

// Estimated cycles of one of the four schedulers of a multiprocessor for one instruction of one warp;
// latencies once a dependent chain. From the throughputs of sm_90: 64 integer operations, 32 shuffles and 128
// bytes of shared memory a clock for all four.
struct ConversionCosts {
  unsigned select = 2;
  unsigned shuffle = 4;
  unsigned shuffleLatency = 24;
  unsigned wavefront = 4;      // each 128 bytes that shared memory moves
  unsigned sharedAddress = 1;  // each access
  unsigned sharedLatency = 50; // a store and the load after it
  unsigned pack = 1;           // each element put into or taken out of a word
  unsigned barrier = 30;       // of the program
  unsigned warpBarrier = 4;
};

// A step within each warp on a list of words (see ConversionPlan::packed), at first the source's registers.
struct ConversionStep {
  enum class Kind : uint8_t {
    Rename,  // new[i] = old[sources[i]]
    Rotate,  // new[i] = parity(lane & laneMask) ^ parity(warp & warpMask) ? old[i ^ wordMask] : old[i]
    Shuffle, // new[i] = old[sources[i]] of the lane  laneOf(lane, warp) ^ offsets[i]  of the same warp
  };
  Kind kind;
  // Rename, Shuffle: the list has as many words as this afterwards. -1: the new word is poison.
  std::vector<int> sources;
  // Rotate: the list keeps its size, a power of two.
  unsigned wordMask = 0, laneMask = 0, warpMask = 0;
  // Shuffle: laneOf(lane, warp) is the xor of laneImages over the lane's bits and warpImages over the warp's.
  std::array<uint8_t, laneBits> laneImages{};
  std::vector<uint8_t> warpImages;
  std::vector<uint8_t> offsets;
  // Rotate, Shuffle, Rename: the new words that later steps read (others need not be computed).
  std::vector<bool> needed;

  bool keepsLanes()
      const; // laneOf(lane, warp) == lane: shuffle by xor with offsets[i], and by nothing where that is 0
  unsigned laneOf(unsigned lane, unsigned warp) const;
};

// One access of a thread to shared memory. It reaches the elements
//   o = XOR of side.laneOffsets over the lane's bits ^ XOR of side.warpOffsets over the warp's ^ offset
// up to o + side.width - 1, counted in elements from the scratch's start. o is a multiple of width.
// Bits of `offset` outside of side.threadMask() may be added to the address instead of xored.
struct SharedAccess {
  uint32_t offset;
  std::vector<int> registers; // of each element; -1: store anything, drop what was loaded
};

struct SharedSide {
  unsigned width = 1;                             // elements an access
  std::vector<uint32_t> laneOffsets, warpOffsets; // of each bit, in elements
  unsigned wavefronts = 1;                        // of one access of a warp
  uint32_t threadMask() const;                    // all offset bits that threads move
};

struct SharedRound {
  std::vector<SharedAccess> stores, loads;
};

// Each round: stores; barrier; loads; and, where another round follows, barrier. The scratch
// (ConversionChoice::scratchBytes) must be free before.
struct SharedExchange {
  SharedSide store, load;
  // Only threads with (lane & freeLanes) == 0 and (warp & freeWarps) == 0 store; all load.
  uint32_t freeLanes = 0, freeWarps = 0;
  std::vector<SharedRound> rounds;
  // After all rounds: destination register `first` is a copy of `second`, which was loaded.
  std::vector<std::pair<unsigned, unsigned>> copies;
};

// The decision between the ways, and all that was decided on the way chosen.
struct ConversionChoice {
  enum class Kind : uint8_t {
    None,      // the layouts are equal
    Registers, // destination register r is the thread's own source register sourceRegister[r]
    Shuffle,   // follow `steps`
    Shared,    // follow `shared`
  };
  Kind kind = Kind::None;
  unsigned cost = 0; // of one warp, in the unit of ConversionCosts
  // Shuffle, Registers: registers packed * i .. packed * i + packed - 1 (of source and destination) travel as
  // word i; their bits together are at most 32 where packed > 1. An element of 64 bits is a word of two
  // shuffles.
  unsigned packed = 1;
  // Shuffle, Registers: a lane that holds an element already, in whichever register, takes it from itself;
  // else only from the same register.
  bool staysInLane = true;
  // Shared: the whole offset of an element, of which the highest `roundBits` bits are the round's number.
  SharedMap map;
  unsigned roundBits = 0;
  uint64_t scratchBytes = 0; // Shared: of shared memory, aligned to 16
  // Shared: each warp loads only what it stored: a barrier of the warp suffices in place of the program's.
  bool withinWarp = false;

  bool operator==(const ConversionChoice &) const = default;
};

struct ConversionPlan : ConversionChoice {
  // Registers: one a destination register; for a dead one a dead one.
  std::vector<unsigned> sourceRegister;
  std::vector<ConversionStep> steps; // Shuffle: the words after the last step are the destination's
  SharedExchange shared;

  std::string describe() const; // one line for remarks
};

constexpr uint64_t defaultScratchBudget = 64 * 1024;

// `elementBits`: 8, 16, 32 or 64 (less counts as 8). Above `scratchBudget` bytes Shared takes several rounds
// as far as registers allow (bits that are lanes or warps on either side do not split): `scratchBytes` may
// still exceed it.
ConversionPlan planConversion(const Layout &from, const Layout &to, unsigned elementBits,
                              uint64_t scratchBudget = defaultScratchBudget,
                              const ConversionCosts &costs = {});

// The same, but only of the kinds that need no shared memory; none where the warps do not hold what they
// need.
std::optional<ConversionPlan> planWithinWarp(const Layout &from, const Layout &to, unsigned elementBits,
                                             const ConversionCosts &costs = {});
// The same, but always through shared memory.
ConversionPlan planShared(const Layout &from, const Layout &to, unsigned elementBits,
                          uint64_t scratchBudget = defaultScratchBudget, const ConversionCosts &costs = {});

// The plan of a choice that one of the three above made for these layouts and elements; none where the choice
// does not fit them.
std::optional<ConversionPlan> planAsChosen(const ConversionChoice &choice, const Layout &from,
                                           const Layout &to, unsigned elementBits);

} // namespace tegula::layout
