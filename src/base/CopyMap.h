// A copy map: the window of memory through which a kernel copies boxes of a tile. The compiler says how to
// make it from the arguments of a launch; whoever launches makes it, or none: then the kernel copies without.
//
// A window has `rows` rows of `columns` elements, a stride apart. It may begin at each multiple of 16 bytes
// behind the pointer: a third dimension has a stride of 16 bytes. The kernel computes where it begins, and
// enters it so far that what lies beyond a tile's bounds lies outside of it.
//
// A launch tells the kernel by one number where its maps lie, one behind the other: 0, there are none; an odd
// number, at the offset one below it in the code's constant memory, whose maps copies see as they are; else
// at that address of the device's memory, where each block has to ask for what the host wrote.
#pragma once
#include <cstdint>
#include <optional>
#include <span>

namespace tegula {

struct CopyMap {
  uint32_t pointer = 0;    // the parameter that points to the memory
  int32_t strideOf = -1;   // the parameter that says how far rows are apart; -1: they are `strideScale` bytes
  bool isNarrow = false;   // that parameter has 32 bits
  int64_t strideScale = 0; // bytes, of one of it
  uint32_t elementBytes = 0;
  uint32_t columns = 0, rows = 0;       // of the window, and of the tile
  uint32_t boxColumns = 0, boxRows = 0; // that one instruction copies
  bool operator==(const CopyMap &) const = default;

  // The bytes of a box's row, within which pieces of 16 bytes are turned (layout/OperandTile.h).
  uint32_t swizzle() const { return boxColumns * elementBytes; }

  static constexpr uint32_t bytes = 128;                 // of a map, as devices read it
  static constexpr uint64_t unit = 16;                   // of places where a window may begin
  static constexpr uint64_t origins = uint64_t(1) << 31; // such places
  static constexpr uint64_t strideLimit = uint64_t(1) << 40;

  static constexpr char constantsName[] = "copy_maps$"; // the variable for maps in the code; no kernel has it
  static constexpr uint64_t constantBytes = 32768;      // its size: half of what constants may take

  // A launch's number for maps at this offset of constant memory.
  static constexpr uint64_t inConstants(uint64_t offset) { return offset + 1; }

  // Bytes from row to row, of a launch's slots; none where no map can have them, or the pointer.
  std::optional<uint64_t> strideIn(std::span<const uint64_t> slots) const {
    uint64_t factor = strideOf < 0 ? 1 : slots[size_t(strideOf)];
    if (strideOf >= 0 && isNarrow)
      factor = uint64_t(int64_t(int32_t(uint32_t(factor))));
    uint64_t stride = factor * uint64_t(strideScale);
    bool fits = stride != 0 && stride % unit == 0 && stride < strideLimit && slots[pointer] % unit == 0;
    return fits ? std::optional(stride) : std::nullopt;
  }
};

} // namespace tegula
