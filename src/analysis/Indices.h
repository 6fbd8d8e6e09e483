// Values made of program ids, ranges and constants that are not negative, and remainders of such ones by
// anything: only a number past their bits makes them negative.
#pragma once
#include "mlir/IR/Value.h"

#include "llvm/ADT/DenseMap.h"

namespace tegula::analysis {

class Indices {
public:
  bool contains(mlir::Value value) { return contains(value, 0); }

private:
  bool contains(mlir::Value value, unsigned depth);
  bool isMadeOfIndices(mlir::Value value, unsigned depth);

  llvm::DenseMap<mlir::Value, bool> known_;
};

} // namespace tegula::analysis
