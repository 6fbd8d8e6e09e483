// tensormap.replace changes one field of a tensor map, tensormap.cp_fenceproxy copies one from shared to
// global memory for the copies behind it. PTX ISA manual, "Data Movement and Conversion Instructions:
// tensormap.replace", "tensormap.cp_fenceproxy".
//
// 128 bytes of zeros are a map whose fields are all to be replaced: compilers begin with those.
#include "ptxvm/exec/LowerAccess.h"
#include "ptxvm/exec/TensorMap.h"
#include "ptxvm/exec/Warp.h"

#include <algorithm>
#include <cstring>

namespace tegula::ptxvm {
namespace {

constexpr uint8_t bytesOfSwizzle[] = {0, 32, 64, 128};

// A value that is larger than its field cannot be right, and stays so.
uint16_t narrow(uint64_t value) { return uint16_t(std::min<uint64_t>(value, UINT16_MAX)); }

// `which` is the number of a dimension, innermost first, where the field has several.
void replace(TensorMap &map, Modifier field, uint64_t which, uint64_t value) {
  switch (field) {
  case Modifier::mapAddress: map.address = value; return;
  case Modifier::mapRank: map.rank = uint8_t(std::min<uint64_t>(value, UINT8_MAX - 1) + 1); return;
  case Modifier::mapBox: map.box[which] = narrow(value); return;
  case Modifier::mapExtent: map.extents[which] = uint32_t(value); return;
  case Modifier::mapStride: map.strides[which] = value; return;
  case Modifier::mapElementStride: map.elementStrides[which] = narrow(value); return;
  case Modifier::mapType:
    map.elementBytes = uint8_t(byteSize(TensorMap::numberTypes[value]));
    map.numberType = uint8_t(value + 1);
    return;
  case Modifier::mapInterleave: map.isInterleaved = value != 0; return;
  case Modifier::mapSwizzle: map.swizzle = bytesOfSwizzle[value]; return;
  default: map.fillsWithNaN = value != 0; return;
  }
}

constexpr Modifier fields[] = {Modifier::mapAddress, Modifier::mapRank,       Modifier::mapBox,
                               Modifier::mapExtent,  Modifier::mapStride,     Modifier::mapElementStride,
                               Modifier::mapType,    Modifier::mapInterleave, Modifier::mapSwizzle,
                               Modifier::mapFill};

bool isMapOrZeros(const TensorMap &map) {
  return map.magic == TensorMap::mark || std::memcmp(&map, &TensorMap::zeros, sizeof map) == 0;
}

// Copies that read the map from now on need another fence.
void write(Warp &w, const TensorMap &map, std::byte *to) {
  std::memcpy(to, &map, sizeof map);
  w.block->fencedMaps.erase(to);
}

// op.mode: the field; op.value: the dimension; op.a: the value. Of the accesses the first reads, the second
// writes.
void replaceField(Warp &w, const Op &op, uint32_t mask) {
  const AccessForm *accesses = &w.block->program().accesses[op.detail];
  std::byte *bytes[warpSize] = {};
  TensorMap maps[warpSize] = {};
  mask = resolve(w, op, accesses[0], mask, nullptr, bytes);
  uint32_t good = mask;
  forLanes(mask, [&](unsigned i) {
    std::memcpy(&maps[i], bytes[i], sizeof(TensorMap));
    if (!isMapOrZeros(maps[i])) {
      good &= ~(1u << i);
      w.block->findings().add(FindingKind::BadOperand,
                              "changes 128 bytes that are neither a tensor map nor zeros",
                              siteOf(w, op.instruction, i));
    }
    maps[i].magic = TensorMap::mark;
    bool is64 = bitWidth(Type(op.b)) == 64;
    replace(maps[i], fields[op.mode], op.value,
            is64 ? w.lanes<uint64_t>(op.a)[i] : w.lanes<uint32_t>(op.a)[i]);
  });
  good = good ? resolve(w, op, accesses[1], good, reinterpret_cast<const std::byte *>(maps), bytes) : 0;
  forLanes(good, [&](unsigned i) { write(w, maps[i], bytes[i]); });
}

// The warp copies one map, of which its first lane says the places.
void publish(Warp &w, const Op &op, uint32_t mask) {
  const AccessForm *accesses = &w.block->program().accesses[op.detail];
  unsigned lane = firstLane(mask);
  std::byte *from[warpSize] = {}, *to[warpSize] = {};
  TensorMap maps[warpSize] = {};
  if (!resolve(w, op, accesses[0], 1u << lane, nullptr, from))
    return;
  std::memcpy(&maps[lane], from[lane], sizeof(TensorMap));
  if (resolve(w, op, accesses[1], 1u << lane, reinterpret_cast<const std::byte *>(maps), to))
    write(w, maps[lane], to[lane]);
}

void addAccess(Lowering &l, AccessKind kind, unsigned operand, std::optional<Space> space) {
  AccessForm access = makeAccess(l, kind, l.operand(operand), space);
  access.size = sizeof(TensorMap);
  access.count = 1;
  access.alignment = TensorMap::alignment;
  access.semantics = Semantics::Weak;
  access.scope = Scope::None;
  l.program.accesses.push_back(access);
}

} // namespace

void lowerMapReplace(Lowering &l) {
  auto field = std::ranges::find_if(fields, [&](Modifier one) { return l.has(one); });
  l.op.mode = uint8_t(field - std::begin(fields));
  unsigned value = l.operandCount() - 1;
  if (value == 2)
    l.op.value = uint64_t(l.operand(1).value);
  Type type = *field == Modifier::mapAddress || *field == Modifier::mapStride ? Type::B64 : Type::B32;
  l.op.a = l.place(value, type);
  l.op.b = uint32_t(type);
  l.op.detail = uint32_t(l.program.accesses.size());
  for (AccessKind kind : {AccessKind::Load, AccessKind::Store})
    addAccess(l, kind, 0, std::nullopt);
  l.op.run = replaceField;
}

void lowerMapPublish(Lowering &l) {
  l.op.detail = uint32_t(l.program.accesses.size());
  addAccess(l, AccessKind::Load, 1, Space::Shared);
  addAccess(l, AccessKind::Store, 0, Space::Global);
  l.op.run = publish;
}

} // namespace tegula::ptxvm
