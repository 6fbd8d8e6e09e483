// Operands of products in shared memory as matrix instructions of several warps read them by themselves: in
// patterns of eight rows, each as long as the swizzle (32, 64 or 128 bytes), whose pieces of 16 bytes are
// turned: bits 4 to 6 of an address, as many as the swizzle has, are xored with those from bit 7 on. Source:
// PTX ISA, "Asynchronous Warpgroup Level Matrix Shared Memory Layout".
#pragma once
#include "layout/Builders.h"
#include "layout/SharedMap.h"

#include <optional>

namespace tegula::layout {

struct OperandTile {
  bool isTransposed = false; // rows of the operand are innermost, not K
  unsigned swizzle = 128;    // bytes
  // Bytes from one pattern to the next: along K where transposed, else along the rows; and, transposed, from
  // as many rows as a swizzle holds to the next.
  uint32_t stride = 0, leading = 0;
  uint64_t alignment() const { return swizzle * 8; } // of the buffer
};

// Says in which form an instruction reads `rows` rows and `k` elements of K (32 bytes) of an operand from a
// buffer; none where the map is not made for that. `rowImages`, `kImages`: the offsets, in elements, of each
// bit of a row's and of K's coordinate. Wherever a multiple of `rows` and `k` begins, it reads in the same
// way.
std::optional<OperandTile> planOperandTile(std::span<const uint32_t> rowImages,
                                           std::span<const uint32_t> kImages, unsigned rows, unsigned k,
                                           unsigned elementBits);

// The same of operand 0 or 1 of a product with this `result`, of which buffers hold `tile` by `map`: the
// operand or, if `isTransposed`, its transpose. None, too, where slots of a buffer do not begin as the
// instruction wants.
std::optional<OperandTile> planOperandTile(const Layout &tile, const SharedMap &map, bool isTransposed,
                                           unsigned operand, const Layout &result, const MatrixShape &shape);
// The rows of an instruction that it cannot read in the buffer may be fetched half of K at a time: so many
// elements behind what the first half reads lies the same of the second. None: no addition leads there.
std::optional<uint32_t> planOperandHalves(const Layout &tile, const SharedMap &map, bool isTransposed,
                                          unsigned operand, const MatrixShape &shape);
// The columns that one instruction computes of such a `result`.
unsigned columnsTogether(const Layout &result, const MatrixShape &shape);

} // namespace tegula::layout
