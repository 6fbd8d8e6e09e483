#include "ptxvm/checks/Counters.h"
#include "ptxvm/Run.h"

#include <algorithm>
#include <array>
#include <bit>

namespace tegula::ptxvm {
namespace {

constexpr unsigned kBanks = 32, kBankBytes = 4, kSectorBytes = 32;

// Wavefronts of one phase: the most different words that one bank must give.
unsigned phaseWavefronts(const MemoryEvent &event, uint32_t mask) {
  std::array<uint64_t, 64> words;
  size_t count = 0;
  for (; mask; mask &= mask - 1) {
    uint64_t begin = event.addresses[std::countr_zero(mask)] / kBankBytes;
    uint64_t end = (event.addresses[std::countr_zero(mask)] + event.width + kBankBytes - 1) / kBankBytes;
    for (uint64_t word = begin; word < end && count < words.size(); ++word)
      words[count++] = word;
  }
  std::sort(words.begin(), words.begin() + count);
  count = size_t(std::unique(words.begin(), words.begin() + count) - words.begin());
  std::array<unsigned, kBanks> load{};
  for (size_t i = 0; i < count; ++i)
    ++load[words[i] % kBanks];
  return *std::max_element(load.begin(), load.end());
}

} // namespace

WavefrontCount wavefrontsOf(const MemoryEvent &event) {
  unsigned phases = std::clamp(event.width / kBankBytes, 1u, 8u), lanes = 32 / phases;
  WavefrontCount result;
  for (unsigned phase = 0; phase < phases; ++phase) {
    uint32_t all = lanes == 32 ? ~0u : ((1u << lanes) - 1) << phase * lanes;
    if (uint32_t active = event.mask & all) {
      result.needed += phaseWavefronts(event, active);
      ++result.ideal;
    }
  }
  return result;
}

SectorCount sectorsOf(const MemoryEvent &event) {
  std::vector<uint64_t> sectors, addresses;
  for (uint32_t mask = event.mask; mask; mask &= mask - 1) {
    uint64_t begin = event.addresses[std::countr_zero(mask)], end = begin + event.width;
    addresses.push_back(begin);
    for (uint64_t sector = begin / kSectorBytes; sector * kSectorBytes < end; ++sector)
      sectors.push_back(sector);
  }
  auto distinct = [](std::vector<uint64_t> &list) {
    std::sort(list.begin(), list.end());
    return unsigned(std::unique(list.begin(), list.end()) - list.begin());
  };
  unsigned bytes = distinct(addresses) * event.width;
  return {distinct(sectors), (bytes + kSectorBytes - 1) / kSectorBytes};
}

InstructionCounts &InstructionCounts::operator+=(const InstructionCounts &other) {
  requests += other.requests;
  lanes += other.lanes;
  bytes += other.bytes;
  sectors += other.sectors;
  idealSectors += other.idealSectors;
  wavefronts += other.wavefronts;
  idealWavefronts += other.idealWavefronts;
  copyRequests += other.copyRequests;
  copyLanes += other.copyLanes;
  copyBytes += other.copyBytes;
  barriers += other.barriers;
  branches += other.branches;
  divergentBranches += other.divergentBranches;
  if (other.requests) {
    width = other.width;
    space = other.space;
    kind = other.kind;
  }
  return *this;
}

void Counters::runBegins(const RunView &view) {
  counts_.assign(view.kernel.instructions.size(), {});
  workers_.assign(view.workers, counts_);
}

void Counters::runEnds() {
  for (const std::vector<InstructionCounts> &worker : workers_)
    for (size_t i = 0; i < worker.size(); ++i)
      counts_[i] += worker[i];
  workers_.clear();
}

void Counters::memory(const WarpId &who, const MemoryEvent &event) {
  if (event.isOperand) // read by the matrix unit, not by an access of the warp
    return;
  InstructionCounts &c = workers_[who.worker][event.instruction];
  unsigned lanes = unsigned(std::popcount(event.mask));
  if (event.isCopy && event.space == Space::Shared) {
    ++c.copyRequests;
    c.copyLanes += lanes;
    c.copyBytes += uint64_t(lanes) * event.width;
  } else {
    c.requests += 1;
    c.lanes += lanes;
    c.bytes += uint64_t(lanes) * event.width;
    c.width = event.width;
    c.space = event.space;
    c.kind = event.kind;
  }
  if (event.space == Space::Global) {
    SectorCount sectors = sectorsOf(event);
    c.sectors += sectors.touched;
    c.idealSectors += sectors.ideal;
  } else if (event.space == Space::Shared) {
    WavefrontCount wavefronts = wavefrontsOf(event);
    c.wavefronts += wavefronts.needed;
    c.idealWavefronts += wavefronts.ideal;
  }
}

void Counters::barrierArrives(const WarpId &who, const BarrierEvent &event) {
  ++workers_[who.worker][event.instruction].barriers;
}

void Counters::branch(const WarpId &who, const BranchEvent &event) {
  InstructionCounts &c = workers_[who.worker][event.instruction];
  ++c.branches;
  c.divergentBranches += event.taken != 0 && event.fallen != 0;
}

} // namespace tegula::ptxvm
