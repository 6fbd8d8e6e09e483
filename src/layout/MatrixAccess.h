// Shared memory as matrix instructions want it: rows of 16 bytes, eight of which one instruction of a warp
// spreads over its lanes. A matrix is 8 rows of 16 bytes; lane l gets 4 bytes of it: word l mod 4 of row l
// div 4, or, transposed and for elements of 16 bits, elements 2(l mod 4) and 2(l mod 4) + 1 of column l
// div 4. Source: PTX ISA, "ldmatrix", "stmatrix". Of elements of 8 bits a transposed load brings pairs of
// columns: from the rows 4i, 4i + 1 and from 4i + 2, 4i + 3 of two matrices a lane has four neighbours along
// a column twice.
#pragma once
#include "layout/SharedMap.h"

namespace tegula::layout {

// For tiles whose neighbours along `fastest` travel together, in pieces of 16 bytes: rows of a matrix lie in
// different banks, and so do pieces that follow each other. The other dimensions in row-major order; a row
// longer than all banks is cut into panels of that length, which follow each other. `turn`: by how many
// pieces a row is turned against the one before; 1 where rows of a matrix are read as such, more where
// threads read single elements of several rows. `pairs`: a matrix is rows 0, 1, 4, 5, 8 ... or 2, 3, 6 ...
// in place of eight that follow each other.
SharedMap matrixMap(const std::vector<int64_t> &extents, unsigned fastest, unsigned elementBits,
                    unsigned turn = 1, bool pairs = false, const SharedShape &shape = {});

// The most elements, at most `wish`, that a thread of `layout` holds in consecutive registers, in order and
// aligned, where `map` puts them side by side: what can be copied at once.
unsigned copyWidth(const Layout &layout, const SharedMap &map, unsigned wish);

// One instruction moves 1, 2 or 4 matrices; lane 8i + r has the address of row r of matrix i.
struct MatrixAccess {
  // Of one instruction: which registers hold matrix i's 4 bytes, lowest bits first. Transposed ones of 8 bits
  // are no words of the layout: a word's elements come from two matrices.
  struct Piece {
    uint32_t offset; // of the first matrix's first row, in elements, to XOR with what the lanes and warps add
    std::vector<std::vector<unsigned>> registers;
  };
  bool isTransposed = false;
  unsigned matrices = 1;
  // The lanes that name rows, and the warps, add these to the offset, in elements.
  std::vector<uint32_t> laneOffsets, warpOffsets;
  std::vector<Piece> pieces;
};

// The map for a tile whose neighbours along `fastest` travel together, and which `use` reads with matrix
// loads; none where it cannot.
std::optional<SharedMap> matrixMapFor(const Layout &use, unsigned fastest, unsigned elementBits);

// Plans how a warp in `layout` loads a tile that lies as `map` says with such instructions, or stores it so;
// none where it does not fit, or where some threads would read or write outside of the extents.
std::optional<MatrixAccess> planMatrixAccess(const Layout &layout, const SharedMap &map,
                                             unsigned elementBits);

// The times that one warp of `layout` occupies shared memory until it has loaded or stored a whole tile that
// lies as `map` says, with matrix loads where they fit and `byMatrices` allows them.
unsigned wavefrontsOfTile(const Layout &layout, const SharedMap &map, unsigned elementBits, bool byMatrices);

} // namespace tegula::layout
