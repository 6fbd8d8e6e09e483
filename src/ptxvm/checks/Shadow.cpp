#include "ptxvm/checks/Shadow.h"

namespace tegula::ptxvm {
namespace {

// Does nothing order `earlier` before the access?
bool isUnordered(const Epoch &earlier, const Access &access, const WarpClock &clock, bool checkLanes) {
  if (!earlier.isValid() || (earlier.strong && access.epoch.strong))
    return false;
  if (earlier.block != access.epoch.block || earlier.warp != access.epoch.warp)
    return !clock.isAfter(earlier);
  // One warp: lanes are ordered by bar.warp.sync and barriers, which start a new epoch.
  return checkLanes && earlier.clock == access.epoch.clock &&
         (earlier.lane != access.epoch.lane || earlier.lane == severalLanes);
}

// Several lanes, or this warp too, have stored what is there: its own store orders a read of it.
bool hasStoredIt(const Cell &cell, const Access &access) {
  const Epoch &write = cell.write;
  if (access.epoch.block != write.block)
    return false;
  bool oneWarp = write.warp == access.epoch.warp && write.lane == severalLanes;
  return !access.writes && (oneWarp || (cell.sameWarps >> access.epoch.warp & 1));
}

void rememberWrite(Cell &cell, const Access &access, bool sharesValue) {
  bool sameBlock = cell.write.isValid() && cell.write.block == access.epoch.block;
  uint64_t both = uint64_t(1) << cell.write.warp | uint64_t(1) << access.epoch.warp;
  cell.sameWarps = sharesValue && sameBlock ? cell.sameWarps | both : 0;
  cell.write = access.epoch;
  cell.reads = {};
}

bool isSameWarpAndEpoch(const Epoch &a, const Epoch &b) {
  return a.block == b.block && a.warp == b.warp && a.clock == b.clock && a.strong == b.strong;
}

void rememberRead(Cell &cell, const Epoch &epoch, const WarpClock &clock) {
  for (Epoch &read : cell.reads) {
    if (!read.isValid() || isSameWarpAndEpoch(read, epoch)) {
      bool otherLane = read.isValid() && read.lane != epoch.lane;
      read = epoch;
      if (otherLane)
        read.lane = severalLanes;
      return;
    }
  }
  for (Epoch &read : cell.reads) {
    if (clock.isAfter(read)) {
      read = epoch;
      return;
    }
  }
  cell.reads[1] = epoch;
}

} // namespace

std::optional<Conflict> touch(Cell &cell, const Access &access, const WarpClock &clock, bool checkLanes) {
  std::optional<Conflict> conflict;
  bool harmless = access.writes && !access.reads && access.storesSame;
  bool unordered = isUnordered(cell.write, access, clock, checkLanes);
  if (unordered && !harmless && !hasStoredIt(cell, access))
    conflict = Conflict{cell.write, true};
  if (access.writes && !harmless)
    for (const Epoch &read : cell.reads)
      if (!conflict && isUnordered(read, access, clock, checkLanes))
        conflict = Conflict{read, false};
  if (access.writes) {
    rememberWrite(cell, access, harmless && unordered);
  } else {
    rememberRead(cell, access.epoch, clock);
  }
  return conflict;
}

void settle(Cell &cell, const Epoch &epoch) {
  cell.write = epoch;
  cell.sameWarps = 0;
  cell.reads = {};
}

} // namespace tegula::ptxvm
