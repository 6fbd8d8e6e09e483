// Maps from coordinates to offsets in shared memory: linear over F2 as layouts are, so that a swizzle is
// only a choice of bases. The builder chooses bases for one layout that stores and one that loads.
#pragma once
#include "layout/Layout.h"

namespace tegula::layout {

// The shape of shared memory that costs assume: `banks` banks of `bankBytes`; a warp's access of more than
// `banks * bankBytes` bytes runs as several, each of as many neighbouring lanes as fill that much.
struct SharedShape {
  unsigned banks = 32;
  unsigned bankBytes = 4;
  unsigned maxAccessBytes = 16; // of one lane
};

struct SharedMap {
  std::vector<uint32_t> images; // of each bit of a flat coordinate, lowest first: in elements

  uint32_t offset(uint32_t flat) const; // in elements: the xor of the images
  bool isInjective() const;
  bool operator==(const SharedMap &) const = default;
};

// Flat coordinates as they are.
SharedMap linearMap(unsigned totalBits);

// A map for tiles which `store` writes and `load` reads (same extents): the lowest offset bits are register
// bits of both where there are any, then of the side where that saves more; above, bits are mixed such that
// neither side has bank conflicts. `maxVector`: at most so many elements an access.
SharedMap swizzled(const Layout &store, const Layout &load, unsigned elementBits,
                   const SharedShape &shape = {});

// The widest access in elements (a power of two, at most shape.maxAccessBytes) that threads of `layout` can
// make under `map`: the lowest offset bits are reached by registers alone.
unsigned accessWidth(const Layout &layout, const SharedMap &map, unsigned elementBits,
                     const SharedShape &shape = {});

// The widest part of an access of `width` elements whose elements either all lie inside of the tile's extents
// or all outside, in every thread: outside nobody has written anything.
unsigned wholeWidth(const Layout &layout, const SharedMap &map, unsigned width);

// The number of times that one access of one warp occupies shared memory, each lane `width` elements at
// consecutive offsets (linearity makes it the same for every warp and register). 1 is the least below 128
// bytes in all, and 4 for 16 bytes a lane.
unsigned wavefronts(const Layout &layout, const SharedMap &map, unsigned width, unsigned elementBits,
                    const SharedShape &shape = {});

} // namespace tegula::layout
