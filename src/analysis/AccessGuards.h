// Elements of a value that matter: conditions without which no access of the kernel, no branch and no other
// effect depends on an element. They come from masks of loads and stores and from selects on the way there.
#pragma once
#include "analysis/Polynomial.h"
#include "ir/tile/Tile.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

namespace tegula::analysis {

// An element matters only where the condition is true, or false where `isNegated`. The condition is a value
// behind views; its factor says at which of the guarded value's dimensions it lies.
struct Guard {
  Factor condition;
  bool isNegated = false;

  bool operator==(const Guard &other) const {
    return condition == other.condition && isNegated == other.isNegated;
  }
};

class AccessGuards {
public:
  explicit AccessGuards(tile::FuncOp function);
  // The guards of a value: all hold at once wherever an element matters. None: any element may matter.
  llvm::ArrayRef<Guard> of(mlir::Value value) const;

private:
  using Guards = llvm::SmallVector<Guard, 4>;

  void needOperands(mlir::Operation *op);
  void need(mlir::Value value, Guards guards); // one more use of it
  void pass(mlir::Value value);                // from a value to what it is made of
  void passToRegions(mlir::OpResult result, const Guards &guards);
  void needAll(mlir::ValueRange values);

  llvm::DenseMap<mlir::Value, Guards> guards_;
  llvm::SmallVector<mlir::Value> work_;
};

} // namespace tegula::analysis
