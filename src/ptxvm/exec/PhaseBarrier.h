// Barriers with phases (mbarrier) in shared memory, bulk copies that arrive at them, and bulk stores, as the
// machine keeps them: the bytes of the barrier itself are not looked at.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tegula::ptxvm {

constexpr uint32_t mostArrivals = (1u << 20) - 1; // and bytes, of a phase

struct PhaseBarrier {
  uint32_t count = 0, pending = 0; // arrivals of a phase; that have yet to come
  int64_t bytes = 0;               // that the phase awaits; below 0: they came before they were announced
  uint64_t phase = 0;              // phases that are complete
  uint32_t instruction = 0, warp = 0, lane = 0; // that initialised it
  bool isFenced = false;                        // copies see that it is initialised
};

// Bytes that follow each other on both sides.
struct BulkPiece {
  uint64_t shared = 0;         // offset
  std::byte *global = nullptr; // null: outside of the tensor
  uint32_t bytes = 0;
};

// A bulk copy to shared memory, until its bytes are counted at its barrier.
struct BulkCopy {
  uint32_t instruction = 0, warp = 0, lane = 0;
  uint64_t number = 0; // in its block
  uint64_t barrier = 0, bytes = 0;
  std::vector<BulkPiece> pieces;
};

// A bulk store to global memory, until its lane has waited for all of it or its block has ended.
struct BulkStore {
  uint32_t instruction = 0, warp = 0, lane = 0;
  uint64_t number = 0; // in its block
  uint32_t group = 0;  // of its lane
  std::vector<BulkPiece> pieces;
  bool isRead = false, isWritten = false;   // by the machine
  bool isWaitedFor = false, isDone = false; // its lane knows that it is read; that it is written
  std::vector<std::byte> data;              // what was read, piece after piece
};

} // namespace tegula::ptxvm
