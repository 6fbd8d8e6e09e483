// Tiles that are kept and reduced: which layout makes the reductions of a class cheap, where no access
// chooses it.
#pragma once
#include "convert/Classes.h"
#include "ir/simt/Machine.h"
#include "layout/Layout.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SetVector.h"

namespace tegula::convert {

class ReducedTiles {
public:
  // The elements of a line that one access loads.
  using WidthOf = llvm::function_ref<unsigned(mlir::Value line)>;

  ReducedTiles(tile::FuncOp function, const Classes &classes, const simt::Machine &machine, unsigned warps);

  // The guess how often the class's most frequent reduction happens; 0: there is none.
  double trips(mlir::Value leader) const;
  // Cycles of a thread, in all trips, to have what it needs of the lines that are spread over a class, those
  // too that a loop only holds.
  double costOfLines(mlir::Value leader, const layout::Layout &layout, WidthOf widthOf) const;
  // The layout of a class in which its reductions cost least, together with the lines that are spread over
  // it; `otherwise`: one that it could have as well, and has if none is cheaper.
  layout::Layout choose(mlir::Value leader, const layout::Layout &otherwise, WidthOf widthOf) const;

  // The guess how often an op happens.
  static double tripsOf(mlir::Operation *op, const simt::Machine &machine);
  // Cycles of a thread, each time, to reduce a tile of this layout.
  static double costOf(tile::ReduceOp reduce, const layout::Layout &layout, const simt::Machine &machine);

private:
  // Uses of the tiles of one class.
  struct Uses {
    llvm::SmallVector<tile::ReduceOp> reductions;
    llvm::SmallSetVector<mlir::Operation *, 4>
        spreads;            // that repeat a line's elements along other dimensions
    bool isOrdered = false; // scans, or views of other extents, look at it too
  };
  double tripsOf(mlir::Operation *op) const { return tripsOf(op, machine_); }
  void collect(mlir::Operation *op);
  void collectSpreads(mlir::Operation *op, Uses &uses);
  double costOf(const Uses &uses, const layout::Layout &layout, WidthOf widthOf) const;
  double costOfSpreads(const Uses &uses, const layout::Layout &layout, WidthOf widthOf) const;
  double costOf(tile::ReduceOp reduce, const layout::Layout &layout) const {
    return costOf(reduce, layout, machine_);
  }

  const Classes &classes_;
  const simt::Machine &machine_;
  unsigned warps_;
  llvm::DenseMap<mlir::Value, Uses> uses_; // by leader
};

} // namespace tegula::convert
