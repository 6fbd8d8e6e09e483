// Where an access goes: from addresses to bytes of the host, lane by lane. An access that may not
// be made is reported and its lanes are taken out, so nothing outside of the buffers is touched.
#include "ptxvm/exec/Warp.h"

#include <algorithm>
#include <cstdio>
#include <optional>

namespace tegula::ptxvm {
namespace {

const char *verb(AccessKind kind) {
  constexpr const char *verbs[] = {"reads", "writes", "updates", "updates", "prefetches"};
  return verbs[size_t(kind)];
}

std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

class Resolution {
public:
  Resolution(Warp &warp, const Op &op, const AccessForm &access, std::byte **bytes)
      : w_(warp), op_(op), access_(access), bytes_(bytes), width_(access.size * access.count),
        alignment_(access.alignment ? access.alignment : width_) {}

  uint32_t all(uint32_t mask, const std::byte *data) {
    computeAddresses();
    if (access_.space != Space::Generic)
      return oneSpace(access_.space, mask, data);
    uint32_t shared = 0, local = 0, param = 0;
    forLanes(mask, [&](unsigned i) {
      uint64_t window = addresses_[i] & windowMask;
      uint32_t bit = 1u << i;
      shared |= window == sharedWindow ? bit : 0;
      local |= window == localWindow ? bit : 0;
      param |= window == paramWindow ? bit : 0;
    });
    uint32_t global = mask & ~(shared | local | param), done = 0;
    if (shared | local | param)
      forLanes(shared | local | param, [&](unsigned i) { addresses_[i] &= ~windowMask; });
    if (global)
      done |= oneSpace(Space::Global, global, data);
    if (shared)
      done |= oneSpace(Space::Shared, shared, data);
    if (local)
      done |= oneSpace(Space::Local, local, data);
    if (param)
      done |= oneSpace(Space::Param, param, data);
    return done;
  }

private:
  void computeAddresses() {
    if (access_.base == nowhere)
      for (unsigned i = 0; i < warpSize; ++i)
        addresses_[i] = access_.offset;
    else if (access_.isBase64)
      for (unsigned i = 0; i < warpSize; ++i)
        addresses_[i] = w_.lanes<uint64_t>(access_.base)[i] + access_.offset;
    else
      for (unsigned i = 0; i < warpSize; ++i)
        addresses_[i] = uint32_t(w_.lanes<uint32_t>(access_.base)[i] + access_.offset);
  }

  uint32_t oneSpace(Space space, uint32_t mask, const std::byte *data) {
    uint64_t low = 0;
    forLanes(mask, [&](unsigned i) { low |= addresses_[i]; });
    if (low & (alignment_ - 1))
      mask = dropMisaligned(space, mask);
    switch (space) {
    case Space::Shared:
      mask = inBlock(space, mask, w_.block->shared.data(), w_.block->shared.size(), 0);
      break;
    case Space::Local:
      mask = inBlock(space, mask, w_.local.data(), w_.local.size() / warpSize, w_.local.size() / warpSize);
      break;
    case Space::Param: {
      const auto &parameters = w_.block->program().parameters;
      mask = inBlock(space, mask, const_cast<std::byte *>(parameters.data()), parameters.size(), 0);
      break;
    }
    default: mask = inRanges(space, mask); break;
    }
    if (mask && !w_.block->observers().empty())
      tell(space, mask, data);
    return mask;
  }

  uint32_t dropMisaligned(Space space, uint32_t mask) {
    uint32_t kept = mask;
    forLanes(mask, [&](unsigned i) {
      if (addresses_[i] & (alignment_ - 1)) {
        kept &= ~(1u << i);
        report(FindingKind::Misaligned, space, i,
               alignment_ == width_ ? "" : ", which is no multiple of " + std::to_string(alignment_));
      }
    });
    return kept;
  }

  // Memory of `size` bytes, a separate piece every `stride` bytes for each lane, or one when 0.
  uint32_t inBlock(Space space, uint32_t mask, std::byte *base, uint64_t size, uint64_t stride) {
    uint32_t kept = mask;
    bool writes = access_.kind != AccessKind::Load && access_.kind != AccessKind::Prefetch;
    forLanes(mask, [&](unsigned i) {
      if (addresses_[i] > size || size - addresses_[i] < width_) {
        kept &= ~(1u << i);
        report(FindingKind::OutOfBounds, space, i, ", which has " + std::to_string(size));
      } else if (space == Space::Param && writes) {
        kept &= ~(1u << i);
        report(FindingKind::ReadOnly, space, i, "");
      } else {
        bytes_[i] = base + i * stride + addresses_[i];
        if (space == Space::Shared && !access_.isBarrier && !w_.block->phaseBarriers.empty())
          checkPhaseBarriers(i);
      }
    });
    return kept;
  }

  // The bytes of a living mbarrier are its own.
  void checkPhaseBarriers(unsigned lane) {
    auto next = w_.block->phaseBarriers.lower_bound(addresses_[lane] + width_);
    if (next == w_.block->phaseBarriers.begin())
      return;
    auto [offset, barrier] = *std::prev(next);
    if (offset + 8 > addresses_[lane])
      w_.block->findings().add(FindingKind::PhaseMisuse,
                               std::string(verb(access_.kind)) + " bytes of an mbarrier that lives",
                               siteOf(w_, op_.instruction, lane),
                               Site{barrier.instruction, w_.block->id, barrier.warp, barrier.lane});
  }

  uint32_t inRanges(Space space, uint32_t mask) {
    const Range *range = nullptr;
    uint32_t kept = mask;
    bool writes = access_.kind != AccessKind::Load && access_.kind != AccessKind::Prefetch;
    forLanes(mask, [&](unsigned i) {
      uint64_t address = addresses_[i];
      bytes_[i] = reinterpret_cast<std::byte *>(address);
      if (!range || address < range->begin || address > range->end || range->end - address < width_)
        range = findRange(w_.block->program(), address, width_);
      if (!range) {
        kept &= ~(1u << i);
        if (access_.kind != AccessKind::Prefetch)
          report(FindingKind::OutOfBounds, space, i, nearest(address));
      } else if (writes && !range->writable) {
        kept &= ~(1u << i);
        report(FindingKind::ReadOnly, space, i, " (" + range->name + ")");
      }
    });
    return kept;
  }

  // Of addresses that the kernel has loaded; the same for all lanes.
  const char *elsewhere() {
    if (!isLoaded_)
      isLoaded_ = isLoadedPointer(*w_.block->program().kernel, op_.instruction);
    return *isLoaded_ ? "; known are buffers of arguments: what a table of pointers leads to has to be an "
                        "argument, too"
                      : "";
  }

  std::string nearest(uint64_t address) {
    const auto &ranges = w_.block->program().ranges;
    const Range *best = nullptr;
    uint64_t bestDistance = ~uint64_t(0);
    for (const Range &range : ranges) {
      uint64_t distance =
          address < range.begin ? range.begin - address : address - std::min(address, range.end);
      if (distance < bestDistance) {
        bestDistance = distance;
        best = &range;
      }
    }
    if (!best || bestDistance > (uint64_t(1) << 32))
      return std::string(", which is in no buffer") + elsewhere();
    auto offset = int64_t(address - best->begin);
    return ", byte " + std::to_string(offset) + " of " + best->name + ", which has " +
           std::to_string(best->end - best->begin) + elsewhere();
  }

  void report(FindingKind kind, Space space, unsigned lane, const std::string &more) {
    bool isOffset = space == Space::Shared || space == Space::Local || space == Space::Param;
    std::string where =
        isOffset ? "byte " + std::to_string(addresses_[lane]) : "address " + hex(addresses_[lane]);
    w_.block->findings().add(kind,
                             std::string(verb(access_.kind)) + " " + std::to_string(width_) + " bytes at " +
                                 where + " of " + std::string(name(space)) + " memory" + more,
                             siteOf(w_, op_.instruction, lane));
  }

  void tell(Space space, uint32_t mask, const std::byte *data) {
    MemoryEvent event;
    event.instruction = op_.instruction;
    event.space = space;
    event.kind = access_.kind;
    event.semantics = access_.semantics;
    event.scope = access_.scope;
    event.nonCoherent = access_.nonCoherent;
    event.isCopy = access_.isCopy;
    event.isBulk = access_.isBulk;
    event.byWarp = access_.byWarp;
    event.width = width_;
    event.mask = mask;
    event.addresses = addresses_;
    event.data = data;
    event.bytes = bytes_;
    for (Observer *observer : w_.block->observers())
      observer->memory(idOf(w_), event);
  }

  Warp &w_;
  const Op &op_;
  const AccessForm &access_;
  std::byte **bytes_;
  uint32_t width_, alignment_;
  std::optional<bool> isLoaded_;
  uint64_t addresses_[warpSize];
};

} // namespace

std::unique_lock<std::mutex> ordered(Warp &warp, const AccessForm &access) {
  bool isOfBlock =
      access.space == Space::Shared || access.space == Space::Local || access.space == Space::Param;
  if (access.semantics == Semantics::Weak || isOfBlock || warp.block->observers().empty())
    return {};
  return std::unique_lock(warp.block->worker->run.strongMutex);
}

const Range *findRange(const DecodedKernel &program, uint64_t address, uint64_t size) {
  auto it = std::upper_bound(program.ranges.begin(), program.ranges.end(), address,
                             [](uint64_t a, const Range &range) { return a < range.begin; });
  // Buffers may overlap: the one that begins last need not be the one that holds the address.
  while (it != program.ranges.begin()) {
    --it;
    if (address >= it->begin && address <= it->end && it->end - address >= size)
      return &*it;
    if (!program.overlap)
      break;
  }
  return nullptr;
}

uint32_t resolve(Warp &warp, const Op &op, const AccessForm &access, uint32_t mask, const std::byte *data,
                 std::byte **bytes) {
  return Resolution(warp, op, access, bytes).all(mask, data);
}

} // namespace tegula::ptxvm
