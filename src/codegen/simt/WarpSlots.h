// A table in shared memory through which warps hand each other partial results: of each slot (a result, a
// block of a scan) one of each warp. Several neighbours are one access: slots of one warp where a thread
// holds neighbouring ones, else warps of one slot, unless lanes that hold many slots would meet in banks.
#pragma once
#include "codegen/simt/Emitter.h"

namespace tegula::simt {

class WarpSlots {
public:
  // A thread holds slot `of[i]` ^ the slots of its bits in part i, and writes as the warp of its bits.
  // `threads` has for each bit of a lane, then of a warp, the slot and the warp to which it leads. Slots are
  // below `slots`, both numbers are powers of two.
  // `byWarp`: each warp's slots lie side by side, also where a thread holds no neighbours.
  WarpSlots(Emitter &e, mlir::Operation *op, unsigned slots, unsigned warps,
            llvm::ArrayRef<std::pair<uint32_t, uint32_t>> threads, llvm::ArrayRef<uint32_t> of,
            bool byWarp = false);

  // A value of each part, all of one type, into the table that begins `offset` bytes behind the op's scratch.
  // A null predicate is true.
  void write(uint64_t offset, llvm::ArrayRef<llvm::Value *> values, llvm::Value *predicate);
  // Those of all warps: result[part][warp].
  std::vector<Registers> read(uint64_t offset, llvm::Type *type);
  // Those of one warp: result[part].
  Registers readWarp(uint64_t offset, llvm::Type *type, unsigned warp);
  // The value that a warp, counted at run time, wrote for the first part.
  llvm::Value *readOne(uint64_t offset, llvm::Type *type, llvm::Value *warp);

private:
  uint32_t index(uint32_t slot, uint32_t warp) const;
  // Of the thread's slot `slot`, as its own warp writes it, or as warp `warp` does.
  llvm::Value *address(uint64_t offset, unsigned bytes, uint32_t slot, std::optional<uint32_t> warp);
  // `count` neighbours by one access, from that part of that warp on.
  Registers readRun(uint64_t offset, llvm::Type *type, unsigned part, unsigned warp, unsigned count);
  bool isInRuns(unsigned size) const;
  bool lanesMeetInBanks() const;

  Emitter &e_;
  mlir::Operation *op_;
  unsigned slots_, warps_;
  unsigned run_ = 1;    // so many parts are neighbours
  bool byWarp_ = false; // a warp's slots lie side by side
  std::vector<std::pair<uint32_t, uint32_t>> threads_;
  std::vector<uint32_t> of_;
  std::vector<unsigned> order_; // parts by ascending slot
};

} // namespace tegula::simt
