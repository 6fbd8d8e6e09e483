#include "ptxvm/exec/TensorMap.h"

namespace tegula::ptxvm {

std::string problemOf(const TensorMap &map, unsigned rank) {
  constexpr unsigned unit = 16, mostOfBox = 256;
  constexpr uint64_t beyondStrides = uint64_t(1) << 40;
  if (map.magic != TensorMap::mark)
    return "is no tensor map of this machine";
  if (map.isInterleaved)
    return "has an interleaved layout, which this machine does not know";
  if (map.fillsWithNaN)
    return "fills with NaNs what lies outside of its tensor, which this machine does not know";
  if (map.rank != rank)
    return "is of " + std::to_string(map.rank) + " dimensions";
  unsigned size = map.elementBytes;
  if (size != 1 && size != 2 && size != 4 && size != 8)
    return "has elements of " + std::to_string(size) + " bytes";
  if (map.address % unit)
    return "has an address that is no multiple of 16";
  for (unsigned d = 0; d < rank; ++d) {
    if (map.extents[d] == 0)
      return "has an extent of 0";
    if (map.box[d] == 0 || map.box[d] > mostOfBox)
      return "has a box of " + std::to_string(map.box[d]) + " in dimension " + std::to_string(d) +
             ", which is 1 to 256";
    if (map.elementStrides[d] != 1)
      return "has element strides other than 1, which this machine does not know";
    if (d && (map.strides[d - 1] == 0 || map.strides[d - 1] % unit))
      return "has a stride that is no multiple of 16 bytes";
    if (d && map.strides[d - 1] >= beyondStrides)
      return "has a stride of 2^40 bytes or more";
  }
  if (map.rowBytes() % unit)
    return "has a box whose rows of " + std::to_string(map.rowBytes()) + " bytes are no multiple of 16";
  if (map.swizzle != 0 && map.swizzle != 32 && map.swizzle != 64 && map.swizzle != 128)
    return "has a swizzle of " + std::to_string(map.swizzle) + " bytes";
  if (map.swizzle && map.rowBytes() > map.swizzle)
    return "has a box whose rows of " + std::to_string(map.rowBytes()) +
           " bytes are longer than its swizzle of " + std::to_string(map.swizzle);
  return "";
}

} // namespace tegula::ptxvm
