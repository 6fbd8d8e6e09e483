// Between which bounds the integers of a kernel lie, scalars and all elements of tiles. In: a kernel in tile
// IR, and what is given of a launch: values of integer arguments, the grid. Out: ranges. A range is `known`
// where it follows from constants and from what is given. Else something was assumed: integer arguments are
// at least 1, and what comes from memory or is carried by a loop is not negative. Assumed ranges say what to
// warn of; they prove nothing.
#pragma once
#include "ir/tile/Tile.h"

#include "llvm/ADT/DenseMap.h"

#include <array>
#include <optional>

namespace tegula::analysis {

// Ends are cut at ±2^62.
struct Range {
  int64_t low = 0, high = 0;
  bool isKnown = false;
};

struct Given {
  llvm::SmallVector<std::optional<int64_t>> arguments; // by number; of integers
  std::optional<std::array<int64_t, 3>> grid;
};

class Ranges {
public:
  explicit Ranges(Given given) : given_(std::move(given)) {}

  // Of the value as its type holds it.
  Range at(mlir::Value integer);
  // Of a sum, difference or product as if its type had no end.
  Range unwrapped(mlir::Operation *op);
  // The number of times that a loop runs, if its bounds are known.
  std::optional<int64_t> trips(mlir::scf::ForOp loop);

private:
  Range compute(mlir::Value value);
  Range ofOp(mlir::Operation *op, unsigned result);
  Range ofArgument(mlir::BlockArgument argument);
  Range under(Range range, mlir::Value value, mlir::Value condition, bool holds);
  Range chosen(mlir::arith::SelectOp select);
  Range carried(mlir::scf::ForOp loop, unsigned number);

  Given given_;
  llvm::DenseMap<mlir::Value, Range> ranges_;
  unsigned depth_ = 0;
};

} // namespace tegula::analysis
