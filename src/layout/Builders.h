// Layouts by purpose. Each builder is a function of extents and wishes; what comes out is a plain Layout,
// surjective, without repeated registers. Where a tile is smaller than the threads, lanes and warps that
// find no element replicate (zero bases).
//
// Extents that are no powers of two: bits of the hull that would leave threads idle stay registers (the
// highest ones), where whole registers outside of the extent vanish, unless threads would only replicate.
// Threads count as idle where along a dimension they are more than `fullThreads` times its extent; a machine
// has its own number.
#pragma once
#include "layout/Layout.h"

namespace tegula::layout {

constexpr double someFullThreads = 1.125; // where no machine is at hand

// Loads, stores and elementwise work: a run of `vectorElements` (a power of two) in registers along the
// fastest dimension, then the lanes along the fastest dimension and on into the next, then the warps, then
// the rest as further registers: one access of a warp is contiguous, and a thread's runs repeat at a stride
// of lanes * warps * vector. `order`: dimensions, fastest first. The vector shrinks to what divides the
// extent of the fastest dimension and to what leaves every thread an element.
Layout coalesced(std::vector<int64_t> extents, std::span<const unsigned> order, unsigned vectorElements,
                 unsigned warps, double fullThreads = someFullThreads);
// As coalesced, but each run has `run` elements (a power of two that divides the extent) however few threads
// then have one; the others repeat.
Layout coalescedRuns(std::vector<int64_t> extents, std::span<const unsigned> order, unsigned run,
                     unsigned warps, double fullThreads = someFullThreads);
// As coalesced, with the last dimension fastest.
Layout coalesced(std::vector<int64_t> extents, unsigned vectorElements, unsigned warps);

// A reduction or scan along `dim`: as coalesced, but warps take the other dimensions first, so that the axis
// lies in one warp where the tile allows it.
Layout reduction(std::vector<int64_t> extents, unsigned dim, std::span<const unsigned> order,
                 unsigned vectorElements, unsigned warps, double fullThreads = someFullThreads);

// As a reduction along the fastest dimension, but runs of `runs[d]` neighbours (powers of two) along each
// other dimension `d` lie in one thread, as long as threads have more than one element: neighbours with one
// address, say, which so is loaded once.
Layout withRuns(std::vector<int64_t> extents, std::span<const unsigned> order, unsigned vectorElements,
                std::span<const int64_t> runs, unsigned warps, double fullThreads = someFullThreads);

// As `layout`, but along `dim` registers take the lowest of the bits that they and warps move, warps the
// highest: a thread scans neighbours by itself, and warps exchange the totals of theirs.
Layout scanned(const Layout &layout, unsigned dim);

// A reduction along `dim` of a tile that is kept, and whose results go on as a line: threads lie along the
// other dimensions, each with runs of `run` elements along `dim`, and only `lanesAlong` lanes of a warp (a
// power of two), and what threads the other dimensions leave, share a result.
Layout reductionInThreads(std::vector<int64_t> extents, unsigned dim, unsigned run, unsigned lanesAlong,
                          unsigned warps, double fullThreads = someFullThreads);

// The result (..., M, N) of a dot computed with scalar multiply-adds: a thread owns tileM x tileN neighbours
// (powers of two), a warp 4 x 8 of these, warps cover the rest about square, what remains repeats in
// registers. Lanes 2i and 2i + 1 share columns, i and i + 2 rows: shared memory serves 16 bytes a lane to 16
// lanes at once where such pairs want the same, else to 8 (measured on an H100: half the time).
Layout dotBlocked(std::vector<int64_t> extents, unsigned warps, unsigned tileM = 4, unsigned tileN = 4,
                  double fullThreads = someFullThreads);

// The part that a thread needs of operand 0 (..., M, K) or 1 (..., K, N) to compute its part of `result`
// alone: K wholly in registers (the lowest bits), the other bits as the result's; lanes and warps along the
// missing dimension replicate.
Layout dotOperand(const Layout &result, unsigned operand, int64_t k);

// Says how a matrix instruction of one warp lays out a[m, k] x b[k, n] + c[m, n]: n is 8, m 8 or 16. Lanes
// come in groups of four. Of c a lane holds two neighbours along n, in rows m and (where m is 16) m + 8; of
// an operand words of `wordBits` of neighbours along k. A dimension of a tile that is shorter than the
// instruction's repeats: the instruction computes the same elements several times. Along K, where those would
// be added up, whoever multiplies puts zeros in their place, and behind the extent.
// Source: PTX ISA, "Matrix Fragments for mma".
struct MatrixShape {
  unsigned m = 16, n = 8, k = 16;
  unsigned elementBits = 16; // of an operand
  // Rows of the instruction are columns of the tile: it computes the transposed product, b with the place of
  // a.
  bool isSwapped = false;
  // That execute it together, each with m rows, side by side along the instruction's rows; they read operands
  // in shared memory themselves (layout/OperandTile.h).
  unsigned warps = 1;
  // For operands that lie with the result's dimension fastest in memory, of which loads bring pairs of
  // neighbours: row r + 8i of the instruction is row 2r + i of the tile; column c is column 2c + i of the
  // i-th of two instructions side by side. Extents are multiples of 16 there.
  bool pairsRows = false, pairsColumns = false;
  // Of words: k = 4i + j of the instruction is 2j + i of the tile. So threads hold neighbours along K, as
  // they do of the columns of a result that is multiplied further. K is a multiple of 8 there.
  bool pairsDepth = false;
  bool operator==(const MatrixShape &) const = default;
};

// The result (..., M, N) of a dot computed with matrix instructions: `warpsM` warps side by side along M and
// `warpsN` along N (powers of two), the others along a batch, each with neighbours of it, until all of it is
// dealt (further ones repeat); the rest of N, then of M, then of the batch in registers. Where several warps
// execute the instruction, those along its columns have them in one piece.
Layout matrixResult(std::vector<int64_t> extents, const MatrixShape &shape, unsigned warpsM, unsigned warpsN,
                    unsigned warps);
// Returns what a thread needs of operand 0 (..., M, K) or 1 (..., K, N) for its part of such a `result`. In a
// register's bits: one word, one instruction, as the result, then the rest of K.
Layout matrixOperand(const Layout &result, const MatrixShape &shape, unsigned operand, int64_t k);

// Every thread holds the whole tile.
Layout replicated(std::vector<int64_t> extents, unsigned warps);

// The builder call that makes `layout`, as text ("coalesced<order=1,0 vector=4 warps=4>"), or "".
std::string builderOf(const Layout &layout);

} // namespace tegula::layout
