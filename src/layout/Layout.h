// A layout says where a tile lives in a machine of warps: a linear map over F2 from hardware bits
// (register, lane, warp, block) to coordinates of the tile. Nothing here knows of IR or of a vendor.
//
// Coordinates are *flat*: the power-of-two hulls of the extents side by side, row-major, so that the
// last dimension owns the lowest bits. One basis is one uint32_t; reshaping powers of two changes no
// flat coordinate, transposing permutes groups of bits. An extent may be any number from 1: the map
// covers the hull, and what lies outside of the extent does not exist (`isLive`, `contains`).
//
// Layouts are values: immutable, compared by extents and bases.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tegula::layout {

enum class Axis : uint8_t { Register, Lane, Warp, Block };
constexpr unsigned numAxes = 4;
constexpr unsigned laneBits = 5; // 32 lanes a warp

class Layout {
public:
  using Bases =
      std::array<std::vector<uint32_t>, numAxes>; // by Axis; the flat image of each bit, lowest bit first

  // The hulls together have at most 31 bits. A thread's bits outside of `bases` do not move coordinates.
  Layout(std::vector<int64_t> extents, Bases bases);

  // ---- coordinates ----
  unsigned rank() const { return unsigned(extents_.size()); }
  const std::vector<int64_t> &extents() const { return extents_; }
  int64_t hull(unsigned dim) const { return int64_t(1) << hullBits(dim); }
  unsigned hullBits(unsigned dim) const;
  unsigned shift(unsigned dim) const; // the place of the dimension's lowest bit in a flat coordinate
  unsigned totalBits() const { return totalBits_; }
  uint32_t dimMask(unsigned dim) const; // the dimension's bits in a flat coordinate
  std::vector<int64_t> coordinates(uint32_t flat) const;
  uint32_t flatten(std::span<const int64_t> coordinates) const;
  bool contains(uint32_t flat) const; // the coordinate lies inside the extents
  bool hasPadding() const;            // some extent is no power of two

  // ---- the map ----
  const std::vector<uint32_t> &bases(Axis axis) const { return bases_[size_t(axis)]; }
  const Bases &allBases() const { return bases_; }
  unsigned size(Axis axis) const { return 1u << bases(axis).size(); }
  // The flat coordinate held by a register of a thread: the xor of the images of all bits.
  uint32_t apply(unsigned reg, unsigned lane, unsigned warp, unsigned block = 0) const;
  bool isSurjective() const;
  // Bits of the axis that only repeat elements: their image depends on the images of earlier bits, in
  // the order register, lane, warp, block. Each element is held exactly once by the threads and
  // registers whose free bits are all 0; those store it.
  uint32_t freeBits(Axis axis) const;
  // False: the register's image lies outside of the extents in every thread. Such registers do not exist.
  bool isLive(unsigned reg) const;
  std::vector<unsigned> liveRegisters() const; // ascending
  // The largest power of two k such that registers r..r+k-1 (r a multiple of k) of every thread hold
  // consecutive coordinates along `dim` that start at a multiple of k. In terms of the hull: where k does not
  // divide the extent, the tail of a run may lie outside.
  unsigned contiguous(unsigned dim) const;

  // ---- layouts of derived tiles ----
  // `dim` removed, as by a reduction. Register bits without an image are dropped (see keptRegisterBits
  // for which), lanes and warps without one stay and replicate.
  Layout sliced(unsigned dim) const;
  // A new dimension at `axis` of which this is the slice: lanes, then warps that only repeat elements lie
  // along it, lowest bits first, and registers for the rest.
  Layout unsliced(unsigned axis, int64_t extent) const;
  // A new dimension of extent 1 at `axis`; inverse to the slice of it. Flat coordinates do not change.
  Layout expanded(unsigned axis) const;
  // The extent of `dim` becomes 1 (what a broadcast reads); register bits without an image are dropped.
  Layout narrowed(unsigned dim) const;
  // One of 2^bits equal pieces side by side along `dim`. None where threads have more than one register bit
  // for a bit that says which piece it is, or lanes or warps have part in it.
  std::optional<Layout> piece(unsigned dim, unsigned bits) const;
  // Dimension d of the result is dimension order[d] of this.
  Layout transposed(std::span<const int32_t> order) const;
  // The same elements in row-major order under other extents of the same product: bases stay as they are.
  // None where that is not linear: a group of dimensions that changes has an inner extent that is no power of
  // two.
  std::optional<Layout> reshaped(std::vector<int64_t> extents) const;
  // A new last dimension of extent 2, the new lowest register bit: registers 2r and 2r+1 hold the pair of r.
  Layout joined() const;
  // Inverse of joined for a last dimension of extent 2 which one register bit alone moves along: the layout
  // without both, and which register bit it was. Else none.
  std::optional<std::pair<Layout, unsigned>> split() const;
  // Without register bits that only repeat what lower register bits hold.
  Layout withoutRepeatedRegisters() const;
  // Register bits with an image of 0 dropped / the bits which that keeps, ascending.
  Layout withoutZeroRegisters() const;
  std::vector<unsigned> nonzeroRegisterBits() const;
  // The register bits that sliced(dim) and narrowed(dim) keep, ascending: bit i of a result's register is bit
  // kept[i] of the operand's.
  std::vector<unsigned> keptRegisterBits(unsigned dim) const;

  // ---- text ----
  // `[128x64] register=[(0,1),(0,2)] lane=[...] warp=[...] block=[]`, each image as coordinates; in front
  // the builder's name where a builder makes this layout: `coalesced<order=1,0 vector=4 warps=4> [...`.
  std::string text() const;
  // Reads text(); a builder's name in front is skipped. On failure none, and why.
  static std::optional<Layout> parse(std::string_view text, std::string *error = nullptr);

  bool operator==(const Layout &other) const { return extents_ == other.extents_ && bases_ == other.bases_; }

private:
  std::vector<int64_t> extents_;
  Bases bases_;
  unsigned totalBits_ = 0;
};

// The number of bits that count to `extent`: log2 of its power-of-two hull.
unsigned bitsOf(int64_t extent);

} // namespace tegula::layout
