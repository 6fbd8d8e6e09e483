// Bulk copies and bulk stores that are under way, as the machine keeps them.
#pragma once
#include "ptxvm/Opcodes.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace tegula::ptxvm {

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

// Each element is combined with the one in memory.
struct Update {
  Type type = Type::B32;
  Modifier operation = Modifier::add;
};

// A bulk store to global memory, until its lane has waited for all of it or its block has ended.
struct BulkStore {
  uint32_t instruction = 0, warp = 0, lane = 0;
  uint64_t number = 0; // in its block
  uint32_t group = 0;  // of its lane
  std::vector<BulkPiece> pieces;
  std::optional<Update> update;             // of what is there; else it is written over
  bool isRead = false, isWritten = false;   // by the machine
  bool isWaitedFor = false, isDone = false; // its lane knows that it is read; that it is written
  std::vector<std::byte> data;              // what was read, piece after piece
};

} // namespace tegula::ptxvm
