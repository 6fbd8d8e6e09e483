// A map through which cp.async.bulk.tensor reads: a tensor in global memory, the box that one copy moves, and
// how the box lies in shared memory. The driver's form is its own secret, so that this machine has one of its
// own; whoever launches makes it (test/ptxvm/tensor_maps.py). Source: CUDA driver API, "Tensor Map Object
// Management".
#pragma once
#include "ptxvm/Types.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tegula::ptxvm {

// 128 bytes, little-endian; dimensions innermost first.
struct TensorMap {
  static constexpr uint32_t mark = 0x50414d54; // "TMAP"
  static constexpr unsigned most = 5;          // dimensions
  static constexpr unsigned alignment = 64;    // bytes
  uint32_t magic = 0;
  uint8_t rank = 0, elementBytes = 0;
  uint8_t swizzle = 0;                                      // bytes: 0, 32, 64 or 128
  bool isInterleaved : 1 = false, fillsWithNaN : 1 = false; // which this machine refuses
  uint64_t address = 0;                                     // a multiple of 16
  std::array<uint64_t, 4> strides{}; // bytes, of all dimensions but the innermost: multiples of 16
  std::array<uint32_t, most> extents{};
  std::array<uint16_t, most> box{}, elementStrides{}; // elements; element strides are 1
  uint8_t numberType = 0;                             // as .elemtype counts, from 1; 0: nobody has said it
  std::array<uint8_t, 39> rest{};

  // In the order of .elemtype. Of f32 and tf32 the second one is that which flushes subnormals.
  static constexpr Type numberTypes[] = {Type::U8,   Type::U16, Type::U32, Type::S32, Type::U64,
                                         Type::S64,  Type::F16, Type::F32, Type::F32, Type::F64,
                                         Type::BF16, Type::F32, Type::F32};
  static const TensorMap zeros;

  uint32_t rowBytes() const { return uint32_t(box[0]) * elementBytes; }
  uint64_t boxBytes() const {
    uint64_t bytes = elementBytes;
    for (unsigned d = 0; d < rank; ++d)
      bytes *= box[d];
    return bytes;
  }
};
static_assert(sizeof(TensorMap) == 128);
inline constexpr TensorMap TensorMap::zeros{};

// Why a copy of `rank` dimensions cannot read through the map; "": it can.
std::string problemOf(const TensorMap &map, unsigned rank);

} // namespace tegula::ptxvm
