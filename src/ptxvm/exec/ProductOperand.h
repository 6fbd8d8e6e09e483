// Operands of wgmma in shared memory: what a descriptor of 64 bits says, and where each element lies. PTX ISA
// manual, "Asynchronous Warpgroup Level Matrix Shared Memory Layout" and "Matrix Descriptor Format".
//
// An operand has rows (of A; columns of B) and K. Where K is innermost, eight rows of 16 bytes lie together,
// a row of the swizzle apart: 16, 32, 64 or 128 bytes; eight rows follow eight rows by the stride offset, and
// without a swizzle the second 16 bytes of K the first by the leading offset. Transposed (16 bits only), rows
// are innermost: as many as the swizzle has bytes; the next of these by the leading offset, the next eight of
// K by the stride offset (without a swizzle by the other of the two). The swizzle turns 16-byte pieces
// of the address: bits 4 to 6, as many as it has, are xored with those from bit 7 on.
#pragma once
#include <cstdint>

namespace tegula::ptxvm {

inline constexpr unsigned pieceBytes = 16;

struct OperandDescriptor {
  uint64_t start = 0, leading = 0, stride = 0; // bytes
  unsigned swizzle = 16;                       // bytes of a row: 16 is none
  unsigned baseOffset = 0;                     // of a pattern that does not start where its address says

  explicit OperandDescriptor(uint64_t bits)
      : start((bits & 0x3fff) << 4), leading((bits >> 16 & 0x3fff) << 4), stride((bits >> 32 & 0x3fff) << 4),
        swizzle(swizzles[bits >> 62]), baseOffset(bits >> 49 & 7) {}

  // The bits of an address that choose a row of the pattern.
  uint64_t rowBits() const { return swizzle == 16 ? 0 : uint64_t(swizzle / 16 - 1) << 7; }

  // The 16 bytes of row `row` that hold its bytes of K from 16 * `chunk` on.
  uint64_t straight(unsigned row, unsigned chunk) const {
    uint64_t next = swizzle == 16 ? leading : pieceBytes;
    return turned(start + row % 8 * swizzle + row / 8 * stride + chunk * next);
  }
  // The 16 bytes of element `k` of K that hold rows 8 * `eight` to 8 * `eight` + 7, of two bytes each.
  uint64_t transposed(unsigned eight, unsigned k) const {
    unsigned together = swizzle / pieceBytes; // pieces
    bool isPlain = swizzle == 16;
    uint64_t ofRows = isPlain ? stride : leading, ofK = isPlain ? leading : stride;
    return turned(start + eight % together * pieceBytes + eight / together * ofRows + k % 8 * swizzle +
                  k / 8 * ofK);
  }

private:
  static constexpr unsigned swizzles[] = {16, 128, 64, 32};
  uint64_t turned(uint64_t address) const { return address ^ (address & rowBits()) >> 3; }
};

} // namespace tegula::ptxvm
