// What is remembered of memory for the race check: for each cell of 4 bytes the last write and two
// reads. A cell that is accessed in parts is split into its bytes.
//
// Two reads are enough to find a race of a later write with some of many readers: of two readers
// that nothing orders one at least is not the writer. A read that is ordered before a new one is
// replaced by it.
#pragma once
#include "ptxvm/checks/Clocks.h"

#include <array>
#include <deque>
#include <optional>

namespace tegula::ptxvm {

inline constexpr uint32_t cellBytes = 4;

struct Cell {
  Epoch write;
  uint64_t sameWarps = 0; // agents of its block that have stored the same value since, unordered
  std::array<Epoch, 2> reads;
  int32_t split = -1; // index of the bytes' cells
};

// A race of an access with an earlier one.
struct Conflict {
  Epoch earlier;
  bool earlierWrote = false;
};

struct Access {
  Epoch epoch;
  bool reads = false, writes = false;
  bool storesSame = false; // the bytes that are there already
};

// The race of `access` by the warp with `clock` with what the cell remembers, if there is one; then remembers
// the access.
std::optional<Conflict> touch(Cell &cell, const Access &access, const WarpClock &clock, bool checkLanes);

// A copy that the cell knew as a write at its issue is complete: now it is one of this epoch.
void settle(Cell &cell, const Epoch &epoch);

// Cells of a range of memory, with their parts.
class Cells {
public:
  explicit Cells(size_t count) : cells_(count) {}
  // `bytes`: which of the cell's 4 are accessed. Visits the cell, or its parts.
  template <class F> void visit(size_t index, unsigned bytes, F f) {
    Cell &cell = cells_[index];
    if (cell.split < 0 && bytes == 0xf) {
      f(cell);
      return;
    }
    if (cell.split < 0)
      splitCell(cell);
    for (unsigned i = 0; i < cellBytes; ++i)
      if (bytes >> i & 1)
        f(parts_[size_t(cell.split)][i]);
  }

private:
  void splitCell(Cell &cell) {
    Cell part = cell;
    parts_.push_back({part, part, part, part});
    cell.split = int32_t(parts_.size() - 1);
  }
  std::vector<Cell> cells_;
  std::deque<std::array<Cell, cellBytes>> parts_;
};

} // namespace tegula::ptxvm
