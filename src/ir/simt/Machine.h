// A machine of warps as the neutral passes see it: numbers, and questions whose answers are in neutral terms.
// Each target fills one from its own tables. No pass asks which machine it is.
#pragma once
#include "ir/simt/Costs.h"
#include "ir/tile/Tile.h"
#include "layout/Builders.h"

#include <algorithm>
#include <optional>
#include <string>

namespace tegula::simt {

// The types of a product of tiles, and how its inputs may be rounded.
struct DotTypes {
  mlir::Type a, b, result; // elements
  tile::Precision precision = tile::Precision::IEEE;
};

struct MatrixInstruction {
  std::string name; // of a row of the target's table
  layout::MatrixShape shape;
  // Of several warps: more columns than these are a multiple of twice `shape.n`; 0: of `shape.n`, too.
  unsigned oddColumns = 0;
};

// As it stands: a machine with warps and shared memory, and nothing more.
class Machine {
public:
  virtual ~Machine() = default;

  // The matrix instructions for such a product, the one to prefer first; empty: multiply-adds compute it.
  virtual std::vector<MatrixInstruction> matrixInstructions(const DotTypes &types) const { return {}; }
  // The most neighbours that one atomic addition takes, where nobody wants what was there.
  virtual unsigned addedAtOnce(mlir::Type element) const { return 1; }

  // Does one instruction add, multiply or take the maximum, +0 above -0, of two elements of this type?
  virtual bool computesTwo(mlir::Type element) const { return false; }

  // Of 32 bits, that a thread of a program with so many warps has at most.
  unsigned registersOfThread(unsigned warps) const {
    return std::min(registers, registerFile / (32 * std::max(warps, 1u)));
  }

  // That run on a multiprocessor at the same time: of so many warps, of which a thread has so many registers,
  // and so many bytes of shared memory.
  uint64_t programs(unsigned warps, unsigned registersOfThread, uint64_t bytes) const {
    uint64_t most = registerFile / (32 * std::max(warps, 1u) * std::max(registersOfThread, 1u));
    return std::min(std::max<uint64_t>(most, 1), sharedBytes / std::max<uint64_t>(bytes, 1));
  }

  Costs costs;                   // as fitted on sm_90, until a target measures its own
  uint64_t sharedBytes = 0;      // of a program
  unsigned registers = 255;      // of 32 bits, of a thread at most
  unsigned registerFile = 65536; // of 32 bits, of a multiprocessor
  unsigned accessBits = 128;     // that one instruction of a thread moves
  bool hasMatrixLoad = false; // eight rows of 16 bytes of shared memory as fragments of matrix instructions
  bool hasGroupDots = false;  // matrix instructions of several warps, which read shared memory by themselves
  bool hasAsyncCopy = false;  // from global to shared memory while the warps go on
  bool hasBulkCopy = false;   // of whole boxes, which one thread starts, counted by signals
  bool isAlone = false;       // each program of a launch has a multiprocessor for itself; false: nobody knows
};

} // namespace tegula::simt
