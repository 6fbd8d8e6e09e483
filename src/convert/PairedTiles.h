// Tiles of which elements are combined in pairs along bit after bit of their indices, as sorting networks and
// Hadamard transforms do: which bits had better lie in the registers of a thread.
#pragma once
#include "convert/Classes.h"
#include "ir/simt/Machine.h"
#include "layout/Layout.h"

#include <optional>

namespace tegula::convert {

class PairedTiles {
public:
  // Classes that reshapes tie together: one tile under several extents.
  struct Group {
    llvm::SmallVector<mlir::Value, 4> leaders; // in the order of first appearance
    llvm::SmallVector<tile::ReduceOp> reductions;
    llvm::SmallVector<mlir::Operation *> crossings; // that give the group a tile, or take one of it
    bool isBound = false;                           // some op chooses the layout, or asks for an order
  };

  PairedTiles(tile::FuncOp function, const Classes &classes, const simt::Machine &machine, unsigned warps);

  // Those that are combined along several bits.
  const std::vector<Group> &groups() const { return groups_; }
  // The layout in which the group's reductions cost least, with the extents of `otherwise`; none where that
  // saves less than conversions cost of all that comes and goes in `otherwise`.
  std::optional<layout::Layout> choose(const Group &group, const layout::Layout &otherwise) const;

private:
  // By bit of the index: the times that the group is combined in pairs along it.
  std::vector<double> pairsOf(const Group &group) const;
  double costOf(const Group &group, const layout::Layout &layout) const;

  const simt::Machine &machine_;
  unsigned warps_;
  std::vector<Group> groups_;
};

} // namespace tegula::convert
