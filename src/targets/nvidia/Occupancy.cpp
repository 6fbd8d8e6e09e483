#include "targets/nvidia/Occupancy.h"
#include "targets/nvidia/NvidiaMachine.h"

#include <algorithm>

namespace tegula::nvidia {
namespace {

// Source: CUDA C++ Programming Guide, "Compute Capabilities"; the same since sm_75, but for the last.
constexpr unsigned registerFile = 65536; // of a multiprocessor
constexpr unsigned registerGranule = 8;  // of a thread
constexpr unsigned registerNames = 255;
constexpr uint64_t systemBytes = 1024; // of shared memory, that each program takes besides its own

constexpr unsigned mostBlocks = 32;  // of a multiprocessor
constexpr unsigned smallProgram = 4; // warps, that do not hide what each of them waits for

// Of loads that take turns.
constexpr unsigned manyWarps = 32, enoughWarps = 16; // of a multiprocessor
constexpr unsigned gainingWarps = 20;                // that may become `enoughWarps`
constexpr unsigned leastOfSmall = 8;                 // registers, of a small program's loads

unsigned inGranules(unsigned registers) {
  return (registers + registerGranule - 1) / registerGranule * registerGranule;
}

// Programs that shared memory has room for.
uint64_t programsInShared(const Footprint &footprint, const Architecture &architecture) {
  return (architecture.sharedBytes + systemBytes) / (footprint.sharedBytes + systemBytes);
}

// The most registers of a thread with which so many programs run.
unsigned registersOf(uint64_t programs, unsigned threads) {
  return unsigned(registerFile / (programs * threads)) / registerGranule * registerGranule;
}

// Warps of a multiprocessor up to which these do not hide what each of them waits for.
unsigned fewWarps(const Footprint &footprint, const Architecture &architecture) {
  const simt::Costs costs = NvidiaMachine(architecture).costs;
  return footprint.warps < costs.productWarps ? costs.fewWarpsOfSmall : costs.fewWarps;
}

} // namespace

RegisterBounds registersForOneMore(const Footprint &footprint, const Architecture &architecture) {
  unsigned threads = 32 * footprint.warps;
  auto registers = unsigned(std::max(footprint.registers, 1));
  unsigned more = registerFile / (inGranules(registers) * threads) + 1;
  unsigned bound = registersOf(more, threads);
  bool hasRoom = programsInShared(footprint, architecture) >= more;
  const simt::Costs costs = NvidiaMachine(architecture).costs;
  double least = more > costs.fittedPrograms ? costs.keptByMany : costs.keptRegisters;
  if (!hasRoom || more > costs.mostFitted || bound < registers * least)
    return {};
  return {{int(bound)}, costs.spilledForOneMore};
}

RegisterBounds registersForLoads(const Footprint &footprint, const Architecture &architecture) {
  unsigned threads = 32 * footprint.warps, taken = inGranules(unsigned(std::max(footprint.registers, 1)));
  uint64_t run = std::min<uint64_t>({programsInShared(footprint, architecture), mostBlocks,
                                     registerFile / (taken * threads), architecture.threads / threads});
  if (footprint.registers <= 0 || run == 0 || run * footprint.warps > fewWarps(footprint, architecture))
    return {};
  unsigned left = std::min(registerNames, registersOf(run, threads));
  return left > taken ? RegisterBounds{{int(left)}} : RegisterBounds{};
}

RegisterBounds registersLeft(const Footprint &footprint, const Architecture &architecture) {
  unsigned threads = 32 * footprint.warps, taken = inGranules(unsigned(std::max(footprint.registers, 1)));
  uint64_t ofRegisters = registerFile / (taken * threads),
           run = std::min<uint64_t>(programsInShared(footprint, architecture), mostBlocks);
  bool isKept = ofRegisters != 0 && taken == registersOf(ofRegisters, threads);
  if (footprint.registers <= 0 || !isKept || run == 0 || run >= ofRegisters ||
      run * footprint.warps > fewWarps(footprint, architecture))
    return {};
  unsigned left = std::min(registerNames, registersOf(run, threads));
  return left > taken ? RegisterBounds{{int(left)}} : RegisterBounds{};
}

RegisterBounds registersForWaitingWarps(const Footprint &footprint, const Architecture &architecture) {
  const simt::Costs costs = NvidiaMachine(architecture).costs;
  unsigned threads = 32 * footprint.warps;
  auto registers = unsigned(std::max(footprint.registers, 1));
  RegisterBounds bounds;
  if (footprint.registers <= 0 || footprint.warps < costs.waitingWarps)
    return bounds;
  unsigned now = registerFile / (inGranules(registers) * threads);
  uint64_t most = std::min<uint64_t>(programsInShared(footprint, architecture),
                                     std::min(costs.waitingPrograms, architecture.threads / threads));
  for (uint64_t programs = most; programs > now && bounds.registers.size() != 2; --programs)
    if (unsigned bound = registersOf(programs, threads); bound >= registers * costs.keptWaiting)
      bounds.registers.push_back(int(bound));
  return bounds;
}

// With half of the registers a trip's loads still start together, as long as a thread keeps enough to hold
// them: liger-kernel's gradient of cross entropy and total variation took 118 registers on 16 warps, and 1.23
// times as long on an H200 as in upstream's 52.
RegisterBounds registersForSecondProgram(const Footprint &footprint, const Architecture &architecture) {
  constexpr unsigned leastKept = 64;  // registers
  constexpr double keptOfAlone = 0.5; // of a thread's registers
  unsigned threads = 32 * footprint.warps, bound = registersOf(2, threads);
  auto registers = unsigned(std::max(footprint.registers, 0));
  bool isAlone = 2 * inGranules(registers) * threads > registerFile;
  if (!isAlone || bound < leastKept || bound < registers * keptOfAlone ||
      2 * threads > architecture.threads || programsInShared(footprint, architecture) < 2)
    return {};
  return {{int(bound)}};
}

// A row of a product with a small factor, 34 loads of 16 bytes a trip, took 56 registers on four warps: nine
// programs ran, of which each thread had one load under way, or two, and took 1.27 times as long on an H200
// as upstream's eight in 58, with four. In 228 registers two ran, and took 1.6 times as long. Programs of few
// warps gain by fewer loads: rows of 2048 elements that 528 programs walk over, 32 registers on four warps,
// took 1.5 times as long as in 70; a binary search by one warp, 78, 1.2 times as long as in 96.
RegisterBounds registersForTurns(const Footprint &footprint, unsigned loaded, bool inLoops,
                                 const Architecture &architecture) {
  constexpr double leastLoaded = 2;    // registers of a program's loads, for each that it takes
  constexpr int leastTaken = 25;       // registers, of which no loads wait for one another with fewer
  constexpr int leastTakenByWarp = 56; // the same of programs of one warp, which the assembler gives 64
  unsigned threads = 32 * footprint.warps, taken = inGranules(unsigned(std::max(footprint.registers, 1)));
  uint64_t run = std::min<uint64_t>({programsInShared(footprint, architecture), mostBlocks,
                                     registerFile / (taken * threads), architecture.threads / threads});
  bool takesFew = footprint.registers < (footprint.warps == 1 ? leastTakenByWarp : leastTaken),
       isSmall = footprint.warps <= smallProgram && loaded >= leastOfSmall && !takesFew,
       isFull = loaded >= leastLoaded * footprint.registers || (isSmall && inLoops);
  if (footprint.registers <= 0 || footprint.warps > manyWarps)
    return {};
  if (run * footprint.warps > manyWarps)
    return isFull ? RegisterBounds{{int(registersOf(manyWarps / footprint.warps, threads))}}
                  : RegisterBounds{};
  if (isSmall && run * footprint.warps > gainingWarps)
    return {{int(registersOf(enoughWarps / footprint.warps, threads))}};
  return {};
}

// The assembler moves loads ahead as far as a bound lets it: what does not reach one is the same with a
// larger one. Programs of one warp have no other bound.
std::optional<EarlyBound> turnsAtOnce(unsigned warps, uint64_t sharedBytes, unsigned loaded, bool inLoops,
                                      const Architecture &architecture) {
  if (warps == 0 || warps > smallProgram || loaded < leastOfSmall || (warps > 1 && !inLoops))
    return std::nullopt;
  unsigned threads = 32 * warps;
  uint64_t run = std::min<uint64_t>(
      {programsInShared({warps, 1, sharedBytes}, architecture), mostBlocks, architecture.threads / threads});
  if (run * warps <= (warps == 1 ? gainingWarps : manyWarps))
    return std::nullopt;
  auto bound = int(registersOf(enoughWarps / warps, threads));
  return EarlyBound{bound,
                    warps == 1 ? bound - int(registerGranule) : int(registersOf(manyWarps / warps, threads))};
}

// Two layers with a sigmoid in between, 64x32 in two warps, took 96 registers, and on an H200 twice as long
// as in 159: the assembler overlaps what it computes of several elements only where it has registers for
// them.
RegisterBounds registersForChains(const Footprint &footprint, const Architecture &architecture) {
  constexpr unsigned leastPrograms = 3; // of more than two warps
  int most = mostRegisters(footprint.warps);
  if (footprint.warps > 2)
    most = std::min(most, int(registersOf(leastPrograms, 32 * footprint.warps)));
  if (footprint.warps > smallProgram || footprint.registers <= 0 || footprint.registers >= most)
    return {};
  return {{most}, NvidiaMachine(architecture).costs.spilledForOneMore};
}

RegisterBounds chainsAtOnce(unsigned warps, uint64_t sharedBytes, const Architecture &architecture) {
  const Footprint least{warps, 1, sharedBytes};
  RegisterBounds bounds = registersForChains(least, architecture);
  uint64_t run = std::min<uint64_t>(programsInShared(least, architecture), mostBlocks);
  bool isLeft = run != 0 && run * warps <= fewWarps(least, architecture);
  if (bounds.registers.empty() || run == 0 ||
      (isLeft && std::min(registerNames, registersOf(run, 32 * warps)) != unsigned(bounds.registers[0])))
    return {};
  return bounds;
}

bool takesAll(int registers, int bound) { return registers > bound - int(registerGranule); }

int mostRegisters(unsigned warps) {
  unsigned each = registerFile / (32 * std::max(warps, 1u));
  return int(std::min(registerNames, each / registerGranule * registerGranule));
}

std::string withRegisterBound(std::string_view ptx, int registers) {
  constexpr std::string_view threads = ".reqntid";
  size_t at = ptx.find(threads);
  if (at == ptx.npos)
    return std::string(ptx);
  std::string result(ptx);
  if (size_t programs = result.find(".minnctapersm"); programs != result.npos)
    result.erase(programs, result.find('\n', programs) + 1 - programs);
  return result.insert(at, ".maxnreg " + std::to_string(registers) + "\n");
}

} // namespace tegula::nvidia
