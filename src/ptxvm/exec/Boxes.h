// The bytes that one bulk copy or store moves between shared and global memory: a run of bytes, or a box of a
// tensor map. PTX ISA manual, "Tensor Tiled Mode", "Swizzling Modes".
#pragma once
#include "ptxvm/exec/LowerAccess.h"
#include "ptxvm/exec/Warp.h"

#include <optional>

namespace tegula::ptxvm {

struct BulkMove {
  uint64_t bytes = 0; // in shared memory
  std::vector<BulkPiece> pieces;
  uint8_t numberType = 0; // of a tensor map
};

void addFinding(Warp &w, const Op &op, unsigned lane, FindingKind kind, std::string message,
                std::optional<Site> other = std::nullopt);

// The bytes of one lane's access; null: reported.
std::byte *resolveOne(Warp &w, const Op &op, AccessForm access, unsigned lane);
// Finds the bytes of a lane's move, which reads or writes (`global`) global memory; nullopt: it cannot be,
// which was reported.
std::optional<BulkMove> moveOf(Warp &w, const Op &op, const BulkOp &form, unsigned lane, AccessKind global);

// Tells observers of one side of a piece, as of an access of the lane. What is read of shared memory is an
// operand of the asynchronous proxy.
void tellAccess(Warp &w, uint32_t instruction, unsigned lane, const BulkPiece &piece, Space space,
                AccessKind kind);

// The numbers of the operands.
struct BulkOperands {
  unsigned shared = 0, global = 0, size = 0;
  std::optional<unsigned> barrier = {};
};
void lowerBulk(Lowering &l, Handler run, BulkOperands operands);
void lowerTensor(Lowering &l, Handler run, BulkOperands operands); // `global` is a map with coordinates

} // namespace tegula::ptxvm
