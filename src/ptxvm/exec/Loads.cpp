// Loads, stores, prefetches, cache policies, fences. PTX ISA manual, "ld", "ld.global.nc", "st",
// "prefetch", "createpolicy", "membar, fence".
#include "ptxvm/exec/LowerAccess.h"
#include "ptxvm/exec/TensorMap.h"
#include "ptxvm/exec/Warp.h"

#include <cstring>

namespace tegula::ptxvm {
namespace {

template <class T, bool isSigned>
void loadElements(Warp &w, const AccessForm &access, uint32_t mask, std::byte **bytes) {
  for (unsigned k = 0; k < access.count; ++k) {
    auto part = access.results[k];
    if (part.place == nowhere)
      continue;
    auto *d32 = w.lanes<uint32_t>(part.place);
    auto *d64 = w.lanes<uint64_t>(part.place);
    uint64_t keep = part.bits == 16 ? 0xffff : ~uint64_t(0);
    forLanes(mask, [&](unsigned i) {
      T value;
      std::memcpy(&value, bytes[i] + k * sizeof(T), sizeof(T));
      uint64_t extended = isSigned ? uint64_t(int64_t(std::make_signed_t<T>(value))) : uint64_t(value);
      if (part.bits == 64)
        d64[i] = extended;
      else
        d32[i] = uint32_t(extended & keep);
    });
  }
}

void load128(Warp &w, const AccessForm &access, uint32_t mask, std::byte **bytes) {
  if (access.results[0].place == nowhere)
    return;
  auto *d = w.lanes<uint64_t>(access.results[0].place);
  forLanes(mask, [&](unsigned i) {
    std::memcpy(&d[i], bytes[i], 8);
    std::memcpy(&d[warpSize + i], bytes[i] + 8, 8);
  });
}

void load(Warp &w, const Op &op, uint32_t mask) {
  const AccessForm &access = w.block->program().accesses[op.detail];
  std::byte *bytes[warpSize];
  auto lock = ordered(w, access);
  uint32_t kept = resolve(w, op, access, mask, nullptr, bytes);
  if (kept != mask) { // what could not be read reads as zeros
    static std::byte zeros[32];
    forLanes(mask & ~kept, [&](unsigned i) { bytes[i] = zeros; });
  }
  switch (access.size) {
  case 1:
    access.isSigned ? loadElements<uint8_t, true>(w, access, mask, bytes)
                    : loadElements<uint8_t, false>(w, access, mask, bytes);
    break;
  case 2:
    access.isSigned ? loadElements<uint16_t, true>(w, access, mask, bytes)
                    : loadElements<uint16_t, false>(w, access, mask, bytes);
    break;
  case 4:
    access.isSigned ? loadElements<uint32_t, true>(w, access, mask, bytes)
                    : loadElements<uint32_t, false>(w, access, mask, bytes);
    break;
  case 8: loadElements<uint64_t, false>(w, access, mask, bytes); break;
  default: load128(w, access, mask, bytes); break;
  }
}

void store(Warp &w, const Op &op, uint32_t mask) {
  const AccessForm &access = w.block->program().accesses[op.detail];
  alignas(16) std::byte data[warpSize * 32];
  uint32_t width = access.size * access.count;
  for (unsigned k = 0; k < access.count; ++k) {
    auto part = access.sources[k];
    forLanes(mask, [&](unsigned i) {
      uint64_t value = readLane(w, part.place, part.bits >= 64, i);
      std::memcpy(data + i * width + k * access.size, &value, std::min(access.size, 8u));
      if (access.size == 16)
        std::memcpy(data + i * width + 8, &w.lanes<uint64_t>(part.place)[warpSize + i], 8);
    });
  }
  std::byte *bytes[warpSize];
  auto lock = ordered(w, access);
  mask = resolve(w, op, access, mask, data, bytes);
  switch (width) {
  case 4: forLanes(mask, [&](unsigned i) { std::memcpy(bytes[i], data + i * 4, 4); }); break;
  case 16: forLanes(mask, [&](unsigned i) { std::memcpy(bytes[i], data + i * 16, 16); }); break;
  default: forLanes(mask, [&](unsigned i) { std::memcpy(bytes[i], data + i * width, width); }); break;
  }
}

void prefetch(Warp &w, const Op &op, uint32_t mask) {
  std::byte *bytes[warpSize];
  resolve(w, op, w.block->program().accesses[op.detail], mask, nullptr, bytes);
}

void setConstant(Warp &w, const Op &op, uint32_t mask) {
  auto *d = w.lanes<uint64_t>(op.d);
  forLanes(mask, [&](unsigned i) { d[i] = op.value; });
}

void fence(Warp &w, const Op &op, uint32_t mask) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (Observer *observer : w.block->observers())
    observer->fence(idOf(w), {op.instruction, mask, Semantics(op.mode), Scope(op.value)});
}

void fenceOfProxies(Warp &w, const Op &op, uint32_t mask) {
  fencePhases(w, mask);
  for (Observer *observer : w.block->observers())
    observer->proxyFence(idOf(w), op.instruction, mask);
}

} // namespace

Scope scopeOf(const Lowering &l) {
  if (l.has(Modifier::cta))
    return Scope::Block;
  if (l.has(Modifier::cluster))
    return Scope::Cluster;
  if (l.has(Modifier::gpu) || l.has(Modifier::gl))
    return Scope::Gpu;
  if (l.has(Modifier::sys))
    return Scope::System;
  return Scope::None;
}

Semantics semanticsOf(const Lowering &l, Semantics otherwise) {
  if (l.has(Modifier::Volatile))
    return Semantics::Volatile;
  if (l.has(Modifier::relaxed))
    return Semantics::Relaxed;
  if (l.has(Modifier::acquire))
    return Semantics::Acquire;
  if (l.has(Modifier::release))
    return Semantics::Release;
  if (l.has(Modifier::acqRel))
    return Semantics::AcquireRelease;
  if (l.has(Modifier::sc))
    return Semantics::Sequential;
  return otherwise;
}

AccessForm makeAccess(Lowering &l, AccessKind kind, const Operand &address, std::optional<Space> named) {
  AccessForm access;
  access.kind = kind;
  access.type = l.type();
  access.size = byteSize(l.type());
  access.isSigned = isSigned(l.type());
  access.count = l.has(Modifier::v8) ? 8 : l.has(Modifier::v4) ? 4 : l.has(Modifier::v2) ? 2 : 1;
  access.scope = scopeOf(l);
  access.semantics = semanticsOf(l, Semantics::Weak);
  access.nonCoherent = l.has(Modifier::nc);
  if (l.has(Modifier::global))
    access.space = Space::Global;
  if (l.has(Modifier::shared) || l.has(Modifier::sharedCta))
    access.space = Space::Shared;
  if (l.has(Modifier::local))
    access.space = Space::Local;
  if (l.has(Modifier::Const))
    access.space = Space::Const;
  if (l.has(Modifier::param) || l.has(Modifier::paramEntry) || l.has(Modifier::paramFunc))
    access.space = Space::Param;
  if (named)
    access.space = *named;
  access.offset = uint64_t(address.value);
  if (address.count == 0)
    return access;
  Operand base = l.kernel().parts[address.first];
  if (base.kind == OperandKind::Register) {
    access.base = l.place(base, Type::B64);
    access.isBase64 = l.registerBits(base, Type::B64) == 64;
    return access;
  }
  base.value = address.value;
  Space space = Space::Generic;
  access.offset = l.address(base, space);
  Space written = access.space;
  if (written == Space::Generic) {
    if (space == Space::Shared)
      access.offset += sharedWindow;
    if (space == Space::Local)
      access.offset += localWindow;
    if (space == Space::Param)
      access.offset += paramWindow;
  } else if (written == Space::Param && space == Space::Local) {
    access.space = Space::Local; // of a call
  } else if (written != space) {
    l.error = "the variable is in ." + std::string(name(space)) + " memory";
  }
  return access;
}

void useAccess(Lowering &l, AccessForm access, Handler run) {
  if (access.scope >= Scope::Gpu || access.semantics == Semantics::Volatile ||
      access.kind == AccessKind::Atomic)
    l.program.communicates |= access.space != Space::Shared;
  l.op.detail = uint32_t(l.program.accesses.size());
  l.op.run = run;
  l.program.accesses.push_back(access);
}

void fillParts(Lowering &l, std::array<AccessForm::Part, 8> &parts, const Operand &operand, unsigned count) {
  auto partOf = [&](const Operand &one) {
    unsigned bits = one.kind == OperandKind::Register ? bitWidth(l.kernel().registers[one.index].type)
                                                      : std::max(bitWidth(l.type()), 32u);
    return AccessForm::Part{l.place(one, l.type()), uint8_t(bits)};
  };
  if (operand.kind != OperandKind::Vector) {
    parts[0] = partOf(operand);
    return;
  }
  for (unsigned k = 0; k < count; ++k)
    parts[k] = partOf(l.kernel().parts[operand.first + k]);
}

void lowerLd(Lowering &l) {
  AccessForm access = makeAccess(l, AccessKind::Load, l.operand(1));
  fillParts(l, access.results, l.operand(0), access.count);
  useAccess(l, access, load);
}
void lowerSt(Lowering &l) {
  AccessForm access = makeAccess(l, AccessKind::Store, l.operand(0));
  fillParts(l, access.sources, l.operand(1), access.count);
  useAccess(l, access, store);
}
void lowerPrefetch(Lowering &l) {
  AccessForm access = makeAccess(l, AccessKind::Prefetch, l.operand(0));
  access.size = access.count = 1;
  useAccess(l, access, prefetch);
}
// A policy is opaque; the machine has no caches.
void lowerCreatePolicy(Lowering &l) {
  l.op.d = l.place(0, Type::B64);
  l.op.value = 0x10f0000000000000;
  l.op.run = setConstant;
}
void lowerFence(Lowering &l) {
  bool isMembar = l.mnemonic() == "membar";
  l.op.mode = uint8_t(semanticsOf(l, isMembar ? Semantics::Sequential : Semantics::AcquireRelease));
  l.op.value = uint64_t(scopeOf(l));
  l.op.run = fence;
}
void lowerProxyFence(Lowering &l) {
  if (!l.has(Modifier::global)) // products read shared memory
    l.op.run = fenceOfProxies;
  else
    l.op.run = [](Warp &, const Op &, uint32_t) {};
}

// A tensor map that a fence or a prefetch names. Its bytes the machine sees anyway: that the fence is there
// is asked for (Boxes.cpp).
void lowerMapFence(Lowering &l) {
  if (l.mnemonic() == "prefetch") {
    l.op.run = [](Warp &, const Op &, uint32_t) {};
    return;
  }
  AccessForm access = makeAccess(l, AccessKind::Prefetch, l.operand(0), Space::Generic);
  access.size = sizeof(TensorMap);
  access.count = 1;
  access.alignment = TensorMap::alignment;
  access.semantics = Semantics::Weak; // it orders nothing but the map
  access.scope = Scope::None;
  useAccess(l, access, [](Warp &w, const Op &op, uint32_t mask) {
    std::byte *maps[warpSize] = {};
    mask = resolve(w, op, w.block->program().accesses[op.detail], mask, nullptr, maps);
    forLanes(mask, [&](unsigned i) { w.block->fencedMaps.insert(maps[i]); });
  });
}

} // namespace tegula::ptxvm
