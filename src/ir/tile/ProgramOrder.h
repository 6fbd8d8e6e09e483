// The order in which the programs of a launch start. No program may depend on it, so a target may give a
// program another place in the grid than the machine does.
#pragma once
#include "ir/tile/Tile.h"

namespace tegula::tile {

// On a function, an axis of the grid (i32): the loops of programs get longer along it, so those with the
// largest index start first. transforms/OrderPrograms puts it there; machines of warps follow it.
inline constexpr llvm::StringLiteral longestFirstName = "tt.longest_first";

inline std::optional<unsigned> longestFirst(mlir::Operation *function) {
  auto axis = function->getAttrOfType<mlir::IntegerAttr>(longestFirstName);
  return axis ? std::optional(unsigned(axis.getInt())) : std::nullopt;
}

} // namespace tegula::tile
