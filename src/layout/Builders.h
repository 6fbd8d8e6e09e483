// Layouts by purpose. Each builder is a function of extents and wishes; what comes out is a plain Layout,
// surjective, without repeated registers. Where a tile is smaller than the threads, lanes and warps that
// find no element replicate (zero bases).
//
// Extents that are no powers of two: bits of the hull that would leave threads idle stay registers (the
// highest ones), where whole registers outside of the extent vanish, unless threads would only replicate.
#pragma once
#include "layout/Layout.h"

namespace tegula::layout {

// Loads, stores and elementwise work: a run of `vectorElements` (a power of two) in registers along the
// fastest dimension, then the lanes along the fastest dimension and on into the next, then the warps, then
// the rest as further registers: one access of a warp is contiguous, and a thread's runs repeat at a stride
// of lanes * warps * vector. `order`: dimensions, fastest first. The vector shrinks to what divides the
// extent of the fastest dimension and to what leaves every thread an element.
Layout coalesced(std::vector<int64_t> extents, std::span<const unsigned> order, unsigned vectorElements,
                 unsigned warps);
// As coalesced, with the last dimension fastest.
Layout coalesced(std::vector<int64_t> extents, unsigned vectorElements, unsigned warps);

// A reduction or scan along `dim`: as coalesced, but warps take the other dimensions first, so that the axis
// lies in one warp where the tile allows it.
Layout reduction(std::vector<int64_t> extents, unsigned dim, std::span<const unsigned> order,
                 unsigned vectorElements, unsigned warps);

// The result (..., M, N) of a dot computed with scalar multiply-adds: a thread owns tileM x tileN neighbours
// (powers of two), a warp 4 x 8 of these, warps cover the rest about square, what remains repeats in
// registers.
Layout dotBlocked(std::vector<int64_t> extents, unsigned warps, unsigned tileM = 4, unsigned tileN = 4);

// The part that a thread needs of operand 0 (..., M, K) or 1 (..., K, N) to compute its part of `result` alone: K
// wholly in registers (the lowest bits), the other bits as the result's; lanes and warps along the missing
// dimension replicate.
Layout dotOperand(const Layout &result, unsigned operand, int64_t k);

// Every thread holds the whole tile.
Layout replicated(std::vector<int64_t> extents, unsigned warps);

// The builder call that makes `layout`, as text ("coalesced<order=1,0 vector=4 warps=4>"), or "".
std::string builderOf(const Layout &layout);

} // namespace tegula::layout
