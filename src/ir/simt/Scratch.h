// How much shared memory an op needs while it runs, and how it lies there: said once, for
// AllocateShared and for the lowering.
#pragma once
#include "ir/simt/Simt.h"
#include "layout/Conversion.h"

namespace tegula::simt {

// Partial results of a reduction: for each operand a slot a result and warp.
struct ReduceScratch {
  explicit ReduceScratch(tile::ReduceOp op);
  uint32_t laneBits = 0, warpBits = 0; // those that run along the axis
  unsigned warps = 1;                  // that share a result
  // Behind the operands, where the extent is no power of two: does the partial result exist?
  unsigned validity() const { return unsigned(elementBytes.size()) - 1; }
  // Does each thread combine `part` of the results, of all that there are, and hand these to the others? 0:
  // each combines what it holds. `whole`: where each operand's results then lie, one slot a result.
  unsigned part = 0;
  llvm::SmallVector<uint64_t, 2> whole;
  llvm::SmallVector<unsigned, 2> elementBytes;
  llvm::SmallVector<uint64_t, 2> offsets; // of each operand
  uint64_t bytes = 0;
};

// A run of a scan's steps on bits of one kind of hardware.
struct ScanLevel {
  layout::Axis axis;
  llvm::SmallVector<unsigned> bits; // of the axis, as masks, by ascending stride
  uint32_t image = 0, below = 0;    // their flat coordinates; those of all levels before
  llvm::SmallVector<uint64_t, 2>
      offsets; // of warps: where each operand's totals lie, a slot a block and warp
  unsigned mask() const;
};
struct ScanScratch {
  explicit ScanScratch(tile::ScanOp op);
  std::vector<ScanLevel> levels; // of the lowest stride first
  uint32_t allBits = 0;          // of a flat coordinate
  // Behind the operands, where an extent is no power of two and the scan runs in reverse, or its function
  // branches or asserts: does the total exist?
  bool hasValidity = false;
  llvm::SmallVector<unsigned, 2> elementBytes;
  uint64_t bytes = 0;
};

// Can the lanes of each warp hand each other what a gather needs, without shared memory?
bool canGatherInWarp(tile::GatherOp op);

// Elements from one row of a gather's source to the next, where it lies in shared memory. Rows that are as
// long as all banks, or half of them, would begin at few: lanes that read one column of several wait for each
// other. 16 bytes between them keep vectors aligned.
unsigned gatheredPitch(tile::GatherOp op);

// The layout of two tiles in this layout behind each other along the axis, where that moves no element to
// another thread: the lowest register bit tells them apart. Else none.
std::optional<layout::Layout> concatenated(const layout::Layout &operand, tile::CatOp op);

// The plan that was chosen for a conversion (#simt.conversion); the op must carry one.
layout::ConversionPlan planOf(ConvertOp op);
unsigned storedBits(mlir::Type element); // of an element in shared memory
unsigned registersOf(mlir::Type tile);   // of 32 bits, that a thread needs; 0: no tile with a layout

// Bytes of scratch; 0: the op needs none. Conversions and gathers are planned before (plan-converts).
uint64_t scratchBytes(mlir::Operation *op);

} // namespace tegula::simt
